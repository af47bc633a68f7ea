// What the fuzz targets share.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>

#include "base/limits.hpp"
#include "jpeg/scan_script.hpp"

namespace halfbyte::fuzz {

// Ends the process, so that the fuzzer keeps the input.
inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}

// Small enough for thousands of runs a second.
constexpr Limits kLimits{std::uint64_t{1} << 18, 4, 40, std::uint64_t{1} << 21};

// libjpeg's ten scans; for every colour model those of its first component, for all components.
inline jpeg::ScanScript standard_script() {
  const std::vector<jpeg::RequestedScan> luma = {
      {{0}, 0, 0, 0, 1},  {{0}, 1, 5, 0, 2}, {{0}, 6, 63, 0, 2},
      {{0}, 1, 63, 2, 1}, {{0}, 0, 0, 1, 0}, {{0}, 1, 63, 1, 0},
  };
  std::array<std::optional<jpeg::RequestedLevels>, jpeg::kColorModels> models;
  for (std::size_t model = 0; model < models.size(); ++model) {
    const int components = jpeg::num_components(static_cast<jpeg::ColorModel>(model));
    jpeg::RequestedLevels levels;
    for (jpeg::RequestedScan scan : luma) {
      auto& level = levels.emplace_back();
      for (int i = 0; i < components; ++i) {
        if (scan.ss == 0 && i > 0) {
          level.back().components.push_back(i);
        } else {
          scan.components = {i};
          level.push_back(scan);
        }
      }
    }
    models[model] = std::move(levels);
  }
  auto script = jpeg::ScanScript::checked(models);
  require(script.ok(), "the script is legal");
  return script.value();
}

}  // namespace halfbyte::fuzz
