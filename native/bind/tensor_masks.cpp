#include <cstdint>

#include <nanobind/nanobind.h>

#include "bind/module.hpp"
#include "bind/tensor.hpp"
#include "tensor/masks.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

void pack_positive(std::uintptr_t x, int element, std::size_t count, std::uintptr_t bits, int num_threads) {
  const tensor::Element type = element_of(element);
  const nb::gil_scoped_release release;
  tensor::pack_positive(pointer<const void>(x), type, count, pointer<std::uint8_t>(bits), num_threads);
}

}  // namespace

void add_tensor_masks(nb::module_& module) {
  module.def("pack_positive", &pack_positive, nb::arg("x"), nb::arg("element"), nb::arg("count"), nb::arg("bits"),
             nb::arg("num_threads"), "bits[i] = x[i] > 0.");
}

}  // namespace halfbyte::bind
