// Scan scripts: which scans a progressive JPEG consists of, and in which levels they are stored.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "jpeg/markers.hpp"

namespace halfbyte::jpeg {

// YCbCr comes first: people write scripts for it, so its mistakes are reported first.
enum class ColorModel : std::uint8_t { ycc, gray, rgb, cmyk, ycck };
constexpr std::size_t kColorModels = 5;

std::string_view name_of(ColorModel model);
std::optional<ColorModel> color_model_of(std::string_view name);
int num_components(ColorModel model);

// A scan as it was asked for, not yet known to be legal.
struct RequestedScan {
  std::vector<int> components;
  int ss = 0, se = 0, ah = 0, al = 0;
};

using RequestedLevels = std::vector<std::vector<RequestedScan>>;
using Levels = std::vector<std::vector<ScanSpec>>;

// One list of levels a colour model. Level i of every model stands for the same fidelity; it may be empty.
class ScanScript {
 public:
  // illegal_script: a scan breaks a rule of T.81 G.1.1.1, a coefficient is never completed, the first level lacks the
  // DC of a component, or the models differ in the number of levels. A model that is not given has no levels.
  static Result<ScanScript> checked(const std::array<std::optional<RequestedLevels>, kColorModels>& models);

  [[nodiscard]] const Levels* levels(ColorModel model) const;  // null where the script has none
  [[nodiscard]] std::size_t num_levels() const { return num_levels_; }

 private:
  std::array<std::optional<Levels>, kColorModels> models_;
  std::size_t num_levels_ = 0;
};

// The lowest bit position coded so far of every coefficient; -1 before its first scan.
class Progress {
 public:
  explicit Progress(int num_components) : bits_(static_cast<std::size_t>(num_components)) {
    for (auto& component : bits_) component.fill(-1);
  }

  // What is wrong with this scan after the ones before it, or an empty text.
  std::string_view take(const RequestedScan& scan);
  // Takes a scan as it is, from a file that somebody else wrote.
  void note(const ScanSpec& scan);
  // The first coefficient that is not complete, as {component, coefficient}.
  [[nodiscard]] std::optional<std::array<int, 2>> incomplete() const;

 private:
  std::string_view take_component(int component, const RequestedScan& scan);

  std::vector<std::array<std::int8_t, 64>> bits_;
};

}  // namespace halfbyte::jpeg
