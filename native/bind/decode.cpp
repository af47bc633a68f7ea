#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "base/limits.hpp"
#include "base/pool.hpp"
#include "bind/arrays.hpp"
#include "bind/decode_docs.hpp"
#include "bind/errors.hpp"
#include "bind/module.hpp"
#include "image/ms_ssim.hpp"
#include "image/resample.hpp"
#include "jpeg/decode.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

constexpr int kMostThreads = 1024;
constexpr double kMinScaleRatio = 0;

using Failure = std::tuple<std::size_t, std::string, std::string>;

void make_pool(Pool* place, int num_threads) {
  if (num_threads < 1 || num_threads > kMostThreads) {
    refuse("num_threads is " + std::to_string(num_threads) + ", expected 1 to " + std::to_string(kMostThreads));
  }
  new (place) Pool(num_threads);
}

struct Batch {
  std::vector<Bytes> slices;
  std::vector<jpeg::Sample> samples;
};

std::vector<Bytes> slices_of(const Buffers& buffers, const Array& array) {
  const std::vector<std::int64_t> rows = elements<std::int64_t>(array, "slices", {-1, 3}, "int64");
  std::vector<Bytes> slices(rows.size() / 3);
  for (std::size_t i = 0; i < slices.size(); ++i) {
    slices[i] = buffers.slice(i, rows[3 * i], rows[3 * i + 1], rows[3 * i + 2]);
  }
  return slices;
}

// The slices of sample i: [starts[i], starts[i + 1]).
std::span<const Bytes> slices_between(const std::vector<Bytes>& slices, const std::vector<std::int64_t>& starts,
                                      std::size_t i) {
  const std::int64_t begin = starts[i];
  const std::int64_t end = starts[i + 1];
  if (begin < 0 || end < begin || static_cast<std::uint64_t>(end) > slices.size()) {
    refuse("starts[" + std::to_string(i) + "] and the next are " + std::to_string(begin) + " and " +
           std::to_string(end) + ", expected ascending numbers up to " + std::to_string(slices.size()));
  }
  return {slices.data() + begin, static_cast<std::size_t>(end - begin)};
}

Batch batch_of(const Buffers& buffers, const Array& slices, const Array& starts, const Array& boxes, bool clip,
               const Array& orientation, const Array& flip, const Array& sizes, const Destination& out) {
  const auto n = static_cast<std::int64_t>(out.samples());
  Batch batch{slices_of(buffers, slices), {}};
  const auto start = elements<std::int64_t>(starts, "starts", {n + 1}, "int64");
  const auto box = elements<double>(boxes, "boxes", {n, 4}, "float64");
  const auto exif = elements<std::uint8_t>(orientation, "orientation", {n}, "uint8");
  const auto mirrored = elements<std::uint8_t>(flip, "flip", {n}, "bool");
  const auto size = elements<std::int64_t>(sizes, "sizes", {n, 2}, "int64");
  batch.samples.reserve(out.samples());
  for (std::size_t i = 0; i < out.samples(); ++i) {
    const std::string at = "[" + std::to_string(i) + "]";
    const std::int64_t width = size[2 * i];
    const std::int64_t height = size[2 * i + 1];
    if (width < 1 || height < 1 || width > 65535 || height > 65535) {
      refuse("sizes" + at + " is " + std::to_string(width) + " x " + std::to_string(height) +
             ", expected sides of 1 to 65535 pixels");
    }
    const int turn = checked_orientation(exif[i], "orientation" + at);
    const bool swapped = image::orientation_of(turn).transposed;
    const auto upright_width = static_cast<double>(swapped ? height : width);
    const auto upright_height = static_cast<double>(swapped ? width : height);
    batch.samples.push_back({.slices = slices_between(batch.slices, start, i),
                             .width = static_cast<std::uint32_t>(width),
                             .height = static_cast<std::uint32_t>(height),
                             .request = {.box = checked_box(&box[4 * i], upright_width, upright_height, "boxes" + at),
                                         .clip = clip,
                                         .exif = turn,
                                         .mirrored = mirrored[i] != 0,
                                         .out = out.view(i)}});
  }
  return batch;
}

std::vector<Failure> decode(Pool& pool, nb::sequence buffers, const Array& slices, const Array& starts,
                            const Array& boxes, bool clip, const Array& orientation, const Array& flip,
                            const Array& sizes, nb::object out, const std::optional<Array>& lut, const Limits& limits,
                            double min_scale_ratio) {
  if (!(min_scale_ratio == 0 || min_scale_ratio >= 1)) {
    refuse("min_scale_ratio is " + std::to_string(min_scale_ratio) + ", expected 1 or more, or 0 for full size always");
  }
  const Buffers held(buffers);
  const Destination destination(out, lut, 4);
  const Batch batch = batch_of(held, slices, starts, boxes, clip, orientation, flip, sizes, destination);
  const jpeg::DecodeOptions options{limits, min_scale_ratio};
  std::vector<Status> results(batch.samples.size());
  {
    const nb::gil_scoped_release unlocked;
    pool.parallel_for(results, [&](std::size_t i) { return jpeg::decode(batch.samples[i], options); });
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].ok()) image::clear(batch.samples[i].request.out);
    }
  }
  std::vector<Failure> failures;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!results[i].ok()) failures.emplace_back(i, error_name(results[i].code), results[i].message);
  }
  return failures;
}

void resample(const Array& pixels, std::tuple<double, double, double, double> box, bool clip, int orientation,
              bool flip, nb::object out, const std::optional<Array>& lut) {
  const image::Pixels source = pixels_of(pixels, "pixels");
  const Destination destination(out, lut, 3);
  const int turn = checked_orientation(orientation, "orientation");
  const bool swapped = image::orientation_of(turn).transposed;
  const double corners[4] = {std::get<0>(box), std::get<1>(box), std::get<2>(box), std::get<3>(box)};
  const image::Box checked = checked_box(corners, swapped ? source.height : source.width,
                                         swapped ? source.width : source.height, "box");
  const nb::gil_scoped_release unlocked;
  image::resample(source, {.box = checked, .clip = clip, .exif = turn, .mirrored = flip, .out = destination.view(0)});
}

double ms_ssim(const Array& a, const Array& b) {
  const image::Pixels left = pixels_of(a, "a");
  const image::Pixels right = pixels_of(b, "b");
  if (left.width != right.width || left.height != right.height || left.channels != right.channels) {
    refuse("a is " + describe(a) + ", but b is " + describe(b) + ": compare pictures of one size and colour model");
  }
  const nb::gil_scoped_release unlocked;
  return image::ms_ssim(left, right);
}

}  // namespace

void add_decode(nb::module_& module) {
  nb::class_<Pool>(module, "Pool", kPoolDoc)
      .def("__init__", make_pool, nb::arg("num_threads"), nb::sig("def __init__(self, num_threads: int) -> None"))
      .def_prop_ro("num_threads", &Pool::num_threads, "Threads that decode at the same time, the calling one included.")
      .def("__repr__", [](const Pool& pool) { return "Pool(num_threads=" + std::to_string(pool.num_threads()) + ")"; });
  module.def("decode", decode, nb::arg("pool"), nb::arg("buffers"), nb::arg("slices"), nb::arg("starts"),
             nb::arg("boxes"), nb::arg("clip"), nb::arg("orientation"), nb::arg("flip"), nb::arg("sizes"),
             nb::arg("out"), nb::arg("lut").none(), nb::arg("limits") = Limits{}, nb::kw_only(),
             nb::arg("min_scale_ratio") = kMinScaleRatio, nb::sig(kDecodeSignature), kDecodeDoc);
  module.def("resample", resample, nb::arg("pixels"), nb::arg("box"), nb::arg("clip"), nb::arg("orientation"),
             nb::arg("flip"), nb::arg("out"), nb::arg("lut").none() = nb::none(), nb::sig(kResampleSignature),
             kResampleDoc);
  module.def("ms_ssim", ms_ssim, nb::arg("a"), nb::arg("b"), nb::sig(kMsSsimSignature), kMsSsimDoc);
}

}  // namespace halfbyte::bind
