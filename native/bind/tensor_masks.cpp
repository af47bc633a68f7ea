#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>

#include "bind/arrays.hpp"
#include "bind/module.hpp"
#include "bind/tensor.hpp"
#include "tensor/indices.hpp"
#include "tensor/masks.hpp"
#include "tensor/pool_indices.hpp"
#include "tensor/two_values.hpp"
#include "tensor/zero_value.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

void check_width(std::size_t width) {
  if (width != 1 && width != 2 && width != 4) {
    refuse("elements of " + std::to_string(width) + " bytes, expected 1, 2 or 4");
  }
}

void check_float_width(std::size_t width) {
  if (width != 2 && width != 4) refuse("elements of " + std::to_string(width) + " bytes, expected 2 or 4");
}

void check_mask(std::size_t bytes, std::size_t count) {
  const std::size_t expected = tensor::mask_bytes(count);
  if (bytes == expected) return;
  refuse("packed bytes are damaged: a mask of " + std::to_string(bytes) + " bytes, expected " +
         std::to_string(expected) + " for " + std::to_string(count) + " elements");
}

bool pack_positive(std::uintptr_t x, int element, std::size_t count, std::uintptr_t bits, int num_threads) {
  const tensor::Element type = element_of(element);
  const nb::gil_scoped_release release;
  return tensor::pack_positive(pointer<const void>(x), type, count, pointer<std::uint8_t>(bits), num_threads);
}

void pack_nonzero(std::uintptr_t x, std::size_t width, std::size_t count, std::uintptr_t bits, int num_threads) {
  check_width(width);
  const nb::gil_scoped_release release;
  tensor::pack_nonzero(pointer<const void>(x), width, count, pointer<std::uint8_t>(bits), num_threads);
}

void unpack_bits(std::uintptr_t bits, std::size_t bytes, std::size_t count, std::uint32_t pattern, std::size_t width,
                 std::uintptr_t out, int num_threads) {
  check_width(width);
  check_mask(bytes, count);
  const nb::gil_scoped_release release;
  tensor::unpack_bits(pointer<const std::uint8_t>(bits), count, pattern, width, pointer<void>(out), num_threads);
}

void apply_mask(std::uintptr_t bits, std::size_t bytes, std::size_t count, std::size_t width, std::uintptr_t x,
                int num_threads) {
  check_float_width(width);
  check_mask(bytes, count);
  const nb::gil_scoped_release release;
  tensor::apply_mask(pointer<const std::uint8_t>(bits), count, width, pointer<void>(x), num_threads);
}

std::optional<std::uint32_t> pack_two_values(std::uintptr_t x, std::size_t width, std::size_t count,
                                             std::uintptr_t bits, int num_threads) {
  check_float_width(width);
  const nb::gil_scoped_release release;
  return tensor::pack_two_values(pointer<const void>(x), width, count, pointer<std::uint8_t>(bits), num_threads);
}

tensor::Integer integer_of(int code) {
  if (code < 0 || code > 3) refuse("integer type is " + std::to_string(code) + ", expected 0 to 3");
  return static_cast<tensor::Integer>(code);
}

std::pair<std::int64_t, std::int64_t> integer_range(std::uintptr_t x, int type, std::size_t count, int num_threads) {
  const tensor::Integer integer = integer_of(type);
  if (count == 0) refuse("no elements, and so no range");
  const nb::gil_scoped_release release;
  const tensor::Range range = tensor::range_of(pointer<const void>(x), integer, count, num_threads);
  return {range.least, range.greatest};
}

void convert_integers(std::uintptr_t x, int from, std::size_t count, std::uintptr_t out, int to, int num_threads) {
  const tensor::Integer source = integer_of(from);
  const tensor::Integer target = integer_of(to);
  const nb::gil_scoped_release release;
  tensor::convert_integers(pointer<const void>(x), source, count, pointer<void>(out), target, num_threads);
}

tensor::PoolShape pool_shape(std::size_t count, std::size_t windows, std::size_t repeat) {
  if (windows == 0 || repeat == 0) refuse("a pool without windows or without elements in one");
  return {count, windows, repeat};
}

bool encode_pool_indices(std::uintptr_t x, std::size_t count, std::size_t windows, std::size_t repeat,
                         std::uintptr_t bases, std::uintptr_t places, std::uintptr_t codes, int num_threads) {
  const tensor::PoolShape shape = pool_shape(count, windows, repeat);
  const nb::gil_scoped_release release;
  return tensor::encode_pool_indices(
      pointer<const std::int64_t>(x), shape,
      {pointer<std::int64_t>(bases), pointer<std::int64_t>(places), pointer<std::uint8_t>(codes)}, num_threads);
}

void decode_pool_indices(std::uintptr_t bases, std::uintptr_t places, std::uintptr_t codes, std::size_t count,
                         std::size_t windows, std::size_t repeat, std::uintptr_t x, int num_threads) {
  const tensor::PoolShape shape = pool_shape(count, windows, repeat);
  const nb::gil_scoped_release release;
  tensor::decode_pool_indices(
      {pointer<std::int64_t>(bases), pointer<std::int64_t>(places), pointer<std::uint8_t>(codes)}, shape,
      pointer<std::int64_t>(x), num_threads);
}

std::pair<std::size_t, bool> scan_zeros(std::uintptr_t x, int element, std::size_t count, std::uintptr_t bits,
                                        int num_threads) {
  const tensor::Element type = element_of(element);
  const nb::gil_scoped_release release;
  const tensor::ZeroScan scan =
      tensor::scan_zeros(pointer<const void>(x), type, count, pointer<std::uint8_t>(bits), num_threads);
  return {scan.num_values, scan.negative};
}

tensor::ZeroFormat format_of(int element, int value) {
  const tensor::ZeroFormat format{.element = element_of(element), .value = element_of(value)};
  if (format.element != format.value && format.element != tensor::Element::float32) {
    refuse("values of another type than their elements, which are not float32");
  }
  return format;
}

bool compact(std::uintptr_t x, int element, std::size_t count, std::uintptr_t bits, std::uintptr_t values, int value,
             int num_threads) {
  const tensor::ZeroFormat format = format_of(element, value);
  const nb::gil_scoped_release release;
  return tensor::compact(pointer<const void>(x), count, pointer<const std::uint8_t>(bits), format,
                         pointer<void>(values), num_threads);
}

void expand(std::uintptr_t bits, std::size_t bytes, std::size_t count, std::uintptr_t values, int value,
            std::size_t num_values, std::uintptr_t out, int element, int num_threads) {
  const tensor::ZeroFormat format = format_of(element, value);
  check_mask(bytes, count);
  bool sound;
  {
    const nb::gil_scoped_release release;
    sound = tensor::expand(pointer<const std::uint8_t>(bits), count, pointer<const void>(values), num_values, format,
                           pointer<void>(out), num_threads);
  }
  if (sound) return;
  refuse("packed bytes are damaged: the mask of " + std::to_string(count) + " elements does not go with " +
         std::to_string(num_values) + " values");
}

}  // namespace

void add_tensor_masks(nb::module_& module) {
  module.def("pack_positive", &pack_positive, nb::arg("x"), nb::arg("element"), nb::arg("count"), nb::arg("bits"),
             nb::arg("num_threads"), "bits[i] = x[i] > 0 or NaN. Returns whether any is NaN.");
  module.def("pack_nonzero", &pack_nonzero, nb::arg("x"), nb::arg("width"), nb::arg("count"), nb::arg("bits"),
             nb::arg("num_threads"), "bits[i] = any bit of x[i] is set; elements of `width` bytes.");
  module.def("unpack_bits", &unpack_bits, nb::arg("bits"), nb::arg("bytes"), nb::arg("count"), nb::arg("pattern"),
             nb::arg("width"), nb::arg("out"), nb::arg("num_threads"), "out[i] = bits[i] ? pattern : 0.");
  module.def("apply_mask", &apply_mask, nb::arg("bits"), nb::arg("bytes"), nb::arg("count"), nb::arg("width"),
             nb::arg("x"), nb::arg("num_threads"), "x[i] = bits[i] ? x[i] : 0.");
  module.def("pack_two_values", &pack_two_values, nb::arg("x"), nb::arg("width"), nb::arg("count"), nb::arg("bits"),
             nb::arg("num_threads"),
             "The bits of the one value that is not 0, or None when there are more; bits[i] = x[i] is not 0.");
  module.def("integer_range", &integer_range, nb::arg("x"), nb::arg("type"), nb::arg("count"), nb::arg("num_threads"),
             "The least and the greatest element; types are 0 uint8, 1 int16, 2 int32, 3 int64.");
  module.def("convert_integers", &convert_integers, nb::arg("x"), nb::arg("from_type"), nb::arg("count"),
             nb::arg("out"), nb::arg("to_type"), nb::arg("num_threads"), "out[i] = x[i].");
  module.def("encode_pool_indices", &encode_pool_indices, nb::arg("x"), nb::arg("count"), nb::arg("windows"),
             nb::arg("repeat"), nb::arg("bases"), nb::arg("places"), nb::arg("codes"), nb::arg("num_threads"),
             "x[i] = bases[i / repeat % windows] + places[codes[i]]; False where there are more than 16 places.");
  module.def("decode_pool_indices", &decode_pool_indices, nb::arg("bases"), nb::arg("places"), nb::arg("codes"),
             nb::arg("count"), nb::arg("windows"), nb::arg("repeat"), nb::arg("x"), nb::arg("num_threads"),
             "x[i] = bases[i / repeat % windows] + places[codes[i]].");
  module.def("scan_zeros", &scan_zeros, nb::arg("x"), nb::arg("element"), nb::arg("count"), nb::arg("bits"),
             nb::arg("num_threads"),
             "bits[i] = any bit of x[i] is set; how many are, and whether some element is negative, -0 or NaN.");
  module.def("compact", &compact, nb::arg("x"), nb::arg("element"), nb::arg("count"), nb::arg("bits"),
             nb::arg("values"), nb::arg("value_type"), nb::arg("num_threads"),
             "The elements whose bit is set, in the type of the values; whether all that were finite still are.");
  module.def("expand", &expand, nb::arg("bits"), nb::arg("bytes"), nb::arg("count"), nb::arg("values"),
             nb::arg("value_type"), nb::arg("num_values"), nb::arg("out"), nb::arg("element"), nb::arg("num_threads"),
             "Values where bits are set, zeros elsewhere.");
}

}  // namespace halfbyte::bind
