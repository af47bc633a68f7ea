#include <cstdint>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>

#include "bind/module.hpp"
#include "bind/tensor.hpp"
#include "tensor/code_blocks.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

using Address = std::uintptr_t;

std::pair<std::size_t, std::size_t> measure(Address codes, std::size_t count, bool has_signs, Address widths,
                                            Address counts, int num_threads) {
  const nb::gil_scoped_release release;
  const auto [masks, packed] =
      tensor::measure_code_blocks(pointer<const std::int16_t>(codes), count, has_signs, pointer<std::uint8_t>(widths),
                                  pointer<tensor::CodeCounts>(counts), num_threads);
  return {masks, packed};
}

void write(Address codes, std::size_t count, bool has_signs, Address counts, Address masks, Address packed,
           int num_threads) {
  const nb::gil_scoped_release release;
  tensor::write_code_blocks(pointer<const std::int16_t>(codes), count, has_signs,
                            pointer<const tensor::CodeCounts>(counts), pointer<std::uint8_t>(masks),
                            pointer<std::uint8_t>(packed), num_threads);
}

int check(Address widths, Address masks, std::size_t mask_bytes, std::size_t code_bytes, std::size_t count,
          Address counts, int num_threads) {
  const nb::gil_scoped_release release;
  return static_cast<int>(tensor::check_code_blocks(
      pointer<const std::uint8_t>(widths), pointer<const std::uint8_t>(masks), {mask_bytes, code_bytes}, count,
      pointer<tensor::CodeCounts>(counts), num_threads));
}

void read(Address widths, Address masks, Address packed, Address counts, std::size_t count, bool has_signs,
          Address codes, int num_threads) {
  const nb::gil_scoped_release release;
  tensor::read_code_blocks(pointer<const std::uint8_t>(widths), pointer<const std::uint8_t>(masks),
                           pointer<const std::uint8_t>(packed), pointer<const tensor::CodeCounts>(counts), count,
                           has_signs, pointer<std::int16_t>(codes), num_threads);
}

}  // namespace

void add_tensor_code_blocks(nb::module_& module) {
  module.def("code_blocks_measure", &measure, nb::arg("codes"), nb::arg("count"), nb::arg("has_signs"),
             nb::arg("widths"), nb::arg("counts"), nb::arg("num_threads"),
             "The bytes of masks and of packed codes. Fills in the widths, unless 0 is given, and the counts, int64 "
             "(pieces of 65,536 codes, 10).");
  module.def("code_blocks_write", &write, nb::arg("codes"), nb::arg("count"), nb::arg("has_signs"), nb::arg("counts"),
             nb::arg("masks"), nb::arg("packed"), nb::arg("num_threads"),
             "Masks and packed codes, the latter into zeros, by the counts of code_blocks_measure.");
  module.def("code_blocks_check", &check, nb::arg("widths"), nb::arg("masks"), nb::arg("mask_bytes"),
             nb::arg("code_bytes"), nb::arg("count"), nb::arg("counts"), nb::arg("num_threads"),
             "Fills in the counts. Returns 0, or what is damaged: 1 a width, 2 the bytes of masks, 3 masks that do not "
             "fit widths, 4 the bytes of codes.");
  module.def("code_blocks_read", &read, nb::arg("widths"), nb::arg("masks"), nb::arg("packed"), nb::arg("counts"),
             nb::arg("count"), nb::arg("has_signs"), nb::arg("codes"), nb::arg("num_threads"),
             "The codes, by the counts of code_blocks_check, which found no damage.");
}

}  // namespace halfbyte::bind
