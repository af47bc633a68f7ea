// The values that JPEG functions take and give.
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "base/limits.hpp"
#include "bind/errors.hpp"
#include "bind/module.hpp"
#include "jpeg/markers.hpp"
#include "jpeg/scan_script.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace halfbyte::bind {
namespace {

constexpr const char* kLimitsDoc =
    "Caps on what an image may ask for; checked before memory is allocated for it.\n\n"
    "Args:\n"
    "    max_pixels: width times height.\n"
    "    max_components: colour components.\n"
    "    max_scans: scans of a progressive image; long lists are a cheap way to burn hours.\n"
    "    max_coefficient_bytes: two bytes a coefficient. Transcoding holds up to two and a half times that.";

constexpr const char* kScriptDoc =
    "The scans of a progressive JPEG, grouped into levels; checked against T.81, G.1.1.1.\n\n"
    "Args:\n"
    "    levels: for each colour model (gray, ycc, rgb, cmyk, ycck) its levels; each is a list of scans\n"
    "        (components, Ss, Se, Ah, Al). A level may be empty; all models have the same number of them.\n\n"
    "Raises:\n"
    "    ScanScriptError: a scan breaks a rule (the message names it), a coefficient is never completed, or the first\n"
    "        level lacks a component.";

std::vector<int> components_of(const jpeg::ScanSpec& spec) {
  return {spec.components.begin(), spec.components.begin() + spec.count};
}

using LimitsState = std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t>;

LimitsState state_of(const Limits& limits) {
  return {limits.max_pixels, limits.max_components, limits.max_scans, limits.max_coefficient_bytes};
}

void make_limits(Limits* place, std::uint64_t pixels, std::uint32_t components, std::uint32_t scans,
                 std::uint64_t coefficient_bytes) {
  new (place) Limits{pixels, components, scans, coefficient_bytes};
}

std::string repr(const Limits& limits) {
  return "Limits(max_pixels=" + std::to_string(limits.max_pixels) + ", max_components=" +
         std::to_string(limits.max_components) + ", max_scans=" + std::to_string(limits.max_scans) +
         ", max_coefficient_bytes=" + std::to_string(limits.max_coefficient_bytes) + ")";
}

void add_limits(nb::module_& module) {
  const Limits defaults;
  nb::class_<Limits>(module, "Limits", kLimitsDoc)
      .def("__init__", make_limits, nb::kw_only(), "max_pixels"_a = defaults.max_pixels,
           "max_components"_a = defaults.max_components, "max_scans"_a = defaults.max_scans,
           "max_coefficient_bytes"_a = defaults.max_coefficient_bytes)
      .def_ro("max_pixels", &Limits::max_pixels)
      .def_ro("max_components", &Limits::max_components)
      .def_ro("max_scans", &Limits::max_scans)
      .def_ro("max_coefficient_bytes", &Limits::max_coefficient_bytes)
      .def("__eq__", [](const Limits& a, const Limits& b) { return state_of(a) == state_of(b); }, nb::is_operator(),
           nb::sig("def __eq__(self, other: object, /) -> bool"))
      .def("__hash__", [](const Limits& limits) { return nb::hash(nb::cast(state_of(limits))); })
      .def("__getstate__", state_of)
      .def("__setstate__",
           [](Limits& limits, const LimitsState& state) {
             make_limits(&limits, std::get<0>(state), std::get<1>(state), std::get<2>(state), std::get<3>(state));
           })
      .def("__repr__", [](const Limits& limits) { return repr(limits); });
}

std::string repr(const jpeg::Component& component) {
  return "JpegComponent(id=" + std::to_string(component.id) + ", h=" + std::to_string(component.h) + ", v=" +
         std::to_string(component.v) + ", table=" + std::to_string(component.table) + ")";
}

std::string repr(const jpeg::Scan& scan) {
  std::string text = "JpegScan(components=[";
  for (std::size_t i = 0; i < scan.spec.count; ++i) {
    text.append(i == 0 ? "" : ", ").append(std::to_string(scan.spec.components[i]));
  }
  return text + "], ss=" + std::to_string(scan.spec.ss) + ", se=" + std::to_string(scan.spec.se) + ", ah=" +
         std::to_string(scan.spec.ah) + ", al=" + std::to_string(scan.spec.al) + ", begin=" +
         std::to_string(scan.begin) + ", end=" + std::to_string(scan.end) + ")";
}

std::string repr(const jpeg::JpegInfo& info) {
  return "JpegInfo(" + std::to_string(info.width) + "x" + std::to_string(info.height) + ", SOF" +
         std::to_string(info.sof) + ", " + std::to_string(info.precision) + " bits, " +
         std::to_string(info.components.size()) + " components, " +
         std::to_string(info.scans.size()) + " scans, " + std::to_string(info.end_of_image) + " bytes and " +
         std::to_string(info.trailing) + " after them)";
}

void add_parts(nb::module_& module) {
  nb::class_<jpeg::Component>(module, "JpegComponent", "A colour component of a frame.")
      .def_ro("id", &jpeg::Component::id)
      .def_ro("h", &jpeg::Component::h, "Horizontal sampling factor, 1 to 4.")
      .def_ro("v", &jpeg::Component::v, "Vertical sampling factor, 1 to 4.")
      .def_ro("table", &jpeg::Component::table, "Slot of its quantization table.")
      .def("__repr__", [](const jpeg::Component& component) { return repr(component); });
  nb::class_<jpeg::Scan>(module, "JpegScan", "A scan and its range of bytes; consecutive ranges tile the file.")
      .def_prop_ro("components", [](const jpeg::Scan& scan) { return components_of(scan.spec); },
                   "Indices into the components of the frame.")
      .def_prop_ro("ss", [](const jpeg::Scan& scan) { return scan.spec.ss; })
      .def_prop_ro("se", [](const jpeg::Scan& scan) { return scan.spec.se; })
      .def_prop_ro("ah", [](const jpeg::Scan& scan) { return scan.spec.ah; })
      .def_prop_ro("al", [](const jpeg::Scan& scan) { return scan.spec.al; })
      .def_ro("begin", &jpeg::Scan::begin, "Offset in bytes; tables in front of the scan belong to it.")
      .def_ro("end", &jpeg::Scan::end, "Offset in bytes of the marker after its entropy-coded data.")
      .def("__repr__", [](const jpeg::Scan& scan) { return repr(scan); });
}

std::optional<int> adobe_transform(const jpeg::JpegInfo& info) {
  return info.adobe ? std::optional<int>(info.adobe_transform) : std::nullopt;
}

void add_info(nb::module_& module) {
  using jpeg::JpegInfo;
  nb::class_<JpegInfo>(module, "JpegInfo", "What the markers of a JPEG say.")
      .def_ro("width", &JpegInfo::width, "Pixels, as coded: the orientation is not applied.")
      .def_ro("height", &JpegInfo::height, "Pixels, as coded.")
      .def_ro("precision", &JpegInfo::precision, "Bits a sample.")
      .def_ro("sof", &JpegInfo::sof,
              "0 baseline, 1 extended, 2 progressive, 3 lossless; 9 to 11: the same with arithmetic coding.")
      .def_ro("restart_interval", &JpegInfo::restart_interval, "Interleaved units; 0: none.")
      .def_ro("components", &JpegInfo::components)
      .def_ro("scans", &JpegInfo::scans)
      .def_prop_ro("jfif", [](const JpegInfo& info) { return info.jfif.has_value(); })
      .def_prop_ro("adobe_transform", adobe_transform, "0 none, 1 YCbCr, 2 YCCK; None without an Adobe marker.")
      .def_ro("orientation", &JpegInfo::orientation, "EXIF, 1 to 8; 1 where it is missing or senseless.")
      .def_ro("has_exif", &JpegInfo::has_exif)
      .def_ro("has_icc", &JpegInfo::has_icc)
      .def_ro("has_xmp", &JpegInfo::has_xmp)
      .def_ro("has_comment", &JpegInfo::has_comment)
      .def_ro("end_of_image", &JpegInfo::end_of_image, "Offset in bytes just after the end-of-image marker.")
      .def_ro("trailing", &JpegInfo::trailing, "Bytes after the end of the image.")
      .def("__repr__", [](const JpegInfo& info) { return repr(info); });
}

using ScanTuple = std::tuple<std::vector<int>, int, int, int, int>;
using ScriptArgument = std::map<std::string, std::vector<std::vector<ScanTuple>>>;

jpeg::RequestedLevels requested(const std::vector<std::vector<ScanTuple>>& levels) {
  jpeg::RequestedLevels out;
  for (const auto& level : levels) {
    auto& scans = out.emplace_back();
    for (const auto& [components, ss, se, ah, al] : level) scans.push_back({components, ss, se, ah, al});
  }
  return out;
}

void make_script(jpeg::ScanScript* place, const ScriptArgument& argument) {
  std::array<std::optional<jpeg::RequestedLevels>, jpeg::kColorModels> models;
  for (const auto& [name, levels] : argument) {
    const auto model = jpeg::color_model_of(name);
    if (!model) {
      raise(Status::failure(Code::illegal_script,
                            "unknown colour model \"" + name + "\", expected gray, ycc, rgb, cmyk or ycck"));
    }
    models[static_cast<std::size_t>(*model)] = requested(levels);
  }
  auto script = jpeg::ScanScript::checked(models);
  if (!script.ok()) raise(script.status());
  new (place) jpeg::ScanScript(std::move(script.value()));
}

std::vector<std::vector<ScanTuple>> levels_of(const jpeg::ScanScript& script, const std::string& name) {
  const auto model = jpeg::color_model_of(name);
  const jpeg::Levels* levels = model ? script.levels(*model) : nullptr;
  if (levels == nullptr) throw nb::key_error(name.c_str());
  std::vector<std::vector<ScanTuple>> out;
  for (const auto& level : *levels) {
    auto& scans = out.emplace_back();
    for (const auto& spec : level) scans.emplace_back(components_of(spec), spec.ss, spec.se, spec.ah, spec.al);
  }
  return out;
}

void add_script(nb::module_& module) {
  nb::class_<jpeg::ScanScript>(module, "ScanScript", kScriptDoc)
      .def("__init__", make_script, "levels"_a)
      .def_prop_ro("num_levels", &jpeg::ScanScript::num_levels)
      .def("levels", levels_of, "model"_a, "The levels of a colour model. Raises KeyError if there are none.")
      .def("__repr__", [](const jpeg::ScanScript& script) {
        return "ScanScript(" + std::to_string(script.num_levels()) + " levels)";
      });
}

}  // namespace

void add_jpeg_types(nb::module_& module) {
  add_limits(module);
  add_parts(module);
  add_info(module);
  add_script(module);
}

}  // namespace halfbyte::bind
