#include "jpeg/scan_script.hpp"

#include <algorithm>
#include <functional>
#include <string>

namespace halfbyte::jpeg {
namespace {

constexpr std::array<std::string_view, kColorModels> kNames{"ycc", "gray", "rgb", "cmyk", "ycck"};
constexpr std::array<int, kColorModels> kComponents{3, 1, 3, 4, 4};
constexpr std::size_t kMaxScans = 256;  // decoders give up on longer lists, ours too (Limits::max_scans)
constexpr int kMaxBit = 10;             // libjpeg's bound for 8-bit samples

Status illegal(std::string_view model, const std::string& message) {
  return Status::failure(Code::illegal_script, std::string(model) + ": " + message);
}

std::string describe(std::size_t number, const RequestedScan& scan) {
  std::string text = "scan " + std::to_string(number) + (scan.components.size() == 1 ? " (component" : " (components");
  for (const int component : scan.components) text.append(" ").append(std::to_string(component));
  return text + ", " + std::to_string(scan.ss) + "-" + std::to_string(scan.se) + ", Ah " + std::to_string(scan.ah) +
         ", Al " + std::to_string(scan.al) + ")";
}

ScanSpec spec_of(const RequestedScan& scan) {
  ScanSpec spec;
  for (const int component : scan.components) {
    spec.components[spec.count++] = static_cast<std::uint8_t>(component);
  }
  spec.ss = static_cast<std::uint8_t>(scan.ss);
  spec.se = static_cast<std::uint8_t>(scan.se);
  spec.ah = static_cast<std::uint8_t>(scan.ah);
  spec.al = static_cast<std::uint8_t>(scan.al);
  return spec;
}

// Whether the scans of the first level start every component: without that, fidelity 1 would be no image.
Status check_first_level(std::string_view model, int components, const std::vector<RequestedScan>& level) {
  for (int component = 0; component < components; ++component) {
    const bool found = std::any_of(level.begin(), level.end(), [component](const RequestedScan& scan) {
      return scan.ss == 0 && std::count(scan.components.begin(), scan.components.end(), component) != 0;
    });
    if (!found) {
      return illegal(model, "level 1 lacks the DC scan of component " + std::to_string(component) +
                                ": put the first DC scan of every component there");
    }
  }
  return {};
}

Result<Levels> check_levels(std::string_view model, int components, const RequestedLevels& requested) {
  if (requested.empty()) return illegal(model, "no levels: give at least one scan");
  Progress progress(components);
  Levels levels;
  std::size_t number = 0;
  for (const auto& level : requested) {
    std::vector<ScanSpec>& specs = levels.emplace_back();
    for (const RequestedScan& scan : level) {
      ++number;
      if (number > kMaxScans) return illegal(model, "more than " + std::to_string(kMaxScans) + " scans");
      const std::string_view wrong = progress.take(scan);
      if (!wrong.empty()) return illegal(model, describe(number, scan) + ": " + std::string(wrong));
      specs.push_back(spec_of(scan));
    }
  }
  if (const auto missing = progress.incomplete()) {
    return illegal(model, "no scan completes coefficient " + std::to_string((*missing)[1]) + " of component " +
                              std::to_string((*missing)[0]) + ": its last scan must have Al 0");
  }
  Status first = check_first_level(model, components, requested.front());
  if (!first.ok()) return first;
  return levels;
}

}  // namespace

std::string_view name_of(ColorModel model) { return kNames[static_cast<std::size_t>(model)]; }

std::optional<ColorModel> color_model_of(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<ColorModel>(found - kNames.begin());
}

int num_components(ColorModel model) { return kComponents[static_cast<std::size_t>(model)]; }

std::string_view Progress::take(const RequestedScan& scan) {
  if (scan.components.empty() || scan.components.size() > 4) return "a scan codes 1 to 4 components";
  if (std::adjacent_find(scan.components.begin(), scan.components.end(), std::greater_equal<>()) !=
      scan.components.end()) {
    return "components must be in increasing order";
  }
  if (scan.components.front() < 0 || scan.components.back() >= static_cast<int>(bits_.size())) {
    return "there is no such component";
  }
  if (scan.ss < 0 || scan.se > 63 || scan.ss > scan.se) return "the band must lie in 0-63";
  if (scan.ss == 0 && scan.se != 0) return "a band that starts with DC must end there (0-0)";
  if (scan.ss != 0 && scan.components.size() != 1) return "an AC scan codes one component";
  if (scan.al < 0 || scan.al > kMaxBit || scan.ah < 0 || scan.ah > kMaxBit) return "Ah and Al must lie in 0..10";
  if (scan.ah != 0 && scan.ah != scan.al + 1) return "a refinement must have Ah = Al + 1";
  for (const int component : scan.components) {
    const std::string_view wrong = take_component(component, scan);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

std::string_view Progress::take_component(int component, const RequestedScan& scan) {
  auto& bits = bits_[static_cast<std::size_t>(component)];
  if (scan.ss != 0 && bits[0] < 0) return "the DC scan of a component must come before its AC scans";
  for (int k = scan.ss; k <= scan.se; ++k) {
    std::int8_t& bit = bits[static_cast<std::size_t>(k)];
    if (bit < 0 && scan.ah != 0) return "the first scan of a coefficient must have Ah 0";
    if (bit >= 0 && scan.ah == 0) return "a coefficient was coded before: to refine it, Ah must be the Al of that scan";
    if (bit >= 0 && scan.ah != bit) return "Ah must equal the Al of the scan before of the same coefficient";
    bit = static_cast<std::int8_t>(scan.al);
  }
  return {};
}

void Progress::note(const ScanSpec& scan) {
  for (std::size_t i = 0; i < scan.count; ++i) {
    for (std::size_t k = scan.ss; k <= scan.se && k < 64; ++k) {
      bits_[scan.components[i]][k] = static_cast<std::int8_t>(scan.al);
    }
  }
}

std::optional<std::array<int, 2>> Progress::incomplete() const {
  for (std::size_t component = 0; component < bits_.size(); ++component) {
    for (std::size_t k = 0; k < 64; ++k) {
      if (bits_[component][k] != 0) return std::array<int, 2>{static_cast<int>(component), static_cast<int>(k)};
    }
  }
  return std::nullopt;
}

Result<ScanScript> ScanScript::checked(const std::array<std::optional<RequestedLevels>, kColorModels>& models) {
  ScanScript script;
  for (std::size_t i = 0; i < kColorModels; ++i) {
    if (!models[i]) continue;
    Result<Levels> levels = check_levels(kNames[i], kComponents[i], *models[i]);
    if (!levels.ok()) return levels.status();
    if (script.num_levels_ != 0 && script.num_levels_ != levels.value().size()) {
      return illegal(kNames[i], std::to_string(levels.value().size()) + " levels, but another colour model has " +
                                    std::to_string(script.num_levels_));
    }
    script.num_levels_ = levels.value().size();
    script.models_[i] = std::move(levels.value());
  }
  if (script.num_levels_ == 0) return Status::failure(Code::illegal_script, "a scan script needs a colour model");
  return script;
}

const Levels* ScanScript::levels(ColorModel model) const {
  const auto& levels = models_[static_cast<std::size_t>(model)];
  return levels ? &*levels : nullptr;
}

}  // namespace halfbyte::jpeg
