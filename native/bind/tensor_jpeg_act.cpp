#include <nanobind/nanobind.h>

#include "bind/module.hpp"
#include "bind/tensor.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {

void add_tensor_jpeg_act(nb::module_&) {}

}  // namespace halfbyte::bind
