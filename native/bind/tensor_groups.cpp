#include <cstdint>
#include <string>

#include <nanobind/nanobind.h>

#include "bind/arrays.hpp"
#include "bind/module.hpp"
#include "bind/tensor.hpp"
#include "tensor/group_quantize.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

tensor::GroupFormat format_of(int bits, std::size_t group) {
  if (bits != 1 && bits != 2 && bits != 3 && bits != 4 && bits != 8) {
    refuse("bits is " + std::to_string(bits) + ", expected 1, 2, 3, 4 or 8");
  }
  if (group < tensor::kLeastGroup || group > tensor::kMostGroup || group % tensor::kLeastGroup != 0) {
    refuse("group is " + std::to_string(group) + ", expected a multiple of 32 from 32 to 1024");
  }
  return {.bits = bits, .group = group};
}

void check_size(const char* what, std::size_t size, std::size_t expected) {
  if (size == expected) return;
  refuse(std::string("packed bytes are damaged: ") + what + " " + std::to_string(size) + ", expected " +
         std::to_string(expected));
}

std::size_t encode(std::uintptr_t x, int element, std::size_t count, int bits, std::size_t group, bool stochastic,
                   std::uint64_t key, std::uintptr_t codes, std::uintptr_t least, std::uintptr_t steps,
                   int num_threads) {
  const tensor::Element type = element_of(element);
  const tensor::GroupFormat format = format_of(bits, group);
  const tensor::Rounding rounding{.stochastic = stochastic, .stream = tensor::spread_key(key)};
  const tensor::GroupParts parts{.codes = pointer<std::uint8_t>(codes),
                                 .least = pointer<void>(least),
                                 .steps = pointer<std::uint16_t>(steps)};
  const nb::gil_scoped_release release;
  return tensor::encode_groups(pointer<const void>(x), type, count, format, rounding, parts, num_threads);
}

std::size_t decode(std::uintptr_t codes, std::size_t codes_size, std::uintptr_t least, std::size_t least_size,
                   std::uintptr_t steps, std::size_t steps_size, int element, std::size_t count, int bits,
                   std::size_t group, std::uintptr_t x, int num_threads) {
  const tensor::Element type = element_of(element);
  const tensor::GroupFormat format = format_of(bits, group);
  check_size("bytes of codes are", codes_size, tensor::code_bytes(count, bits));
  check_size("least elements are", least_size, tensor::num_groups(count, format));
  check_size("steps are", steps_size, tensor::num_groups(count, format));
  const tensor::GroupView parts{.codes = pointer<const std::uint8_t>(codes),
                                .least = pointer<const void>(least),
                                .steps = pointer<const std::uint16_t>(steps)};
  const nb::gil_scoped_release release;
  return tensor::decode_groups(parts, type, count, format, pointer<void>(x), num_threads);
}

}  // namespace

void add_tensor_groups(nb::module_& module) {
  module.def("encode_groups", &encode, nb::arg("x"), nb::arg("element"), nb::arg("count"), nb::arg("bits"),
             nb::arg("group"), nb::arg("stochastic"), nb::arg("key"), nb::arg("codes"), nb::arg("least"),
             nb::arg("steps"), nb::arg("num_threads"),
             "Quantize groups of elements; returns how many have to be kept elsewhere (their steps are NaN).");
  module.def("decode_groups", &decode, nb::arg("codes"), nb::arg("codes_size"), nb::arg("least"),
             nb::arg("least_size"), nb::arg("steps"), nb::arg("steps_size"), nb::arg("element"), nb::arg("count"),
             nb::arg("bits"), nb::arg("group"), nb::arg("x"), nb::arg("num_threads"),
             "The inverse; returns how many groups are kept elsewhere. Raises ValueError for parts of wrong sizes.");
}

}  // namespace halfbyte::bind
