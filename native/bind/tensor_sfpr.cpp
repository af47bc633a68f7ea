#include <cstdint>

#include <nanobind/nanobind.h>

#include "bind/module.hpp"
#include "bind/tensor.hpp"
#include "tensor/channels.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

bool channel_ranges(std::uintptr_t x, int element, std::size_t outer, std::size_t channels, std::size_t inner,
                    std::uintptr_t max_abs, int num_threads) {
  const tensor::Element type = element_of(element);
  const nb::gil_scoped_release release;
  return tensor::channel_ranges(pointer<const void>(x), type, outer, channels, inner, pointer<float>(max_abs),
                                num_threads);
}

}  // namespace

void add_tensor_sfpr(nb::module_& module) {
  module.def("channel_ranges", &channel_ranges, nb::arg("x"), nb::arg("element"), nb::arg("outer"), nb::arg("channels"),
             nb::arg("inner"), nb::arg("max_abs"), nb::arg("num_threads"),
             "max_abs[c] = max |x| over channel c of an (outer, channels, inner) array, infinity when it is not finite. "
             "Returns whether all are >= 0.");
}

}  // namespace halfbyte::bind
