#include "bind/tensor.hpp"

#include <string>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/isa.hpp"
#include "bind/arrays.hpp"
#include "bind/module.hpp"
#include "tensor/pages.hpp"
#include "tensor/parallel.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {

tensor::Element element_of(int code) {
  if (code < 0 || code > 2) refuse("element type is " + std::to_string(code) + ", expected 0 to 2");
  return static_cast<tensor::Element>(code);
}

namespace {

std::vector<std::string> isas() {
  std::vector<std::string> names;
  for (const Isa isa : available_isas()) names.emplace_back(name_of(isa));
  return names;
}

void choose_isa(const std::string& name) {
  for (const Isa isa : available_isas()) {
    if (name_of(isa) == name) return set_isa(isa);
  }
  refuse("instruction set " + name + " is not among instruction_sets()");
}

}  // namespace

void add_tensor(nb::module_& module) {
  module.def("instruction_sets", &isas, "The instruction sets that kernels can use here, plainest first.");
  module.def("instruction_set", [] { return std::string(name_of(current_isa())); }, "The instruction set in use.");
  module.def("set_instruction_set", &choose_isa, nb::arg("name"),
             "Use another instruction set, for tests and benchmarks. Results are the same, bit for bit.");
  module.def("set_openmp", [](std::uintptr_t entry) { tensor::set_openmp(reinterpret_cast<tensor::OpenMp>(entry)); },
             nb::arg("entry"), "Run kernels on the threads of this OpenMP runtime: the address of its GOMP_parallel.");
  module.def(
      "advise_huge_pages",
      [](std::uintptr_t start, std::size_t bytes) { tensor::advise_huge_pages(reinterpret_cast<void*>(start), bytes); },
      nb::arg("start"), nb::arg("bytes"), "Ask for huge pages where a block of memory has room for them: a hint.");
  add_tensor_masks(module);
  add_tensor_sfpr(module);
  add_tensor_jpeg_act(module);
  add_tensor_groups(module);
  add_tensor_error_bounded(module);
  add_tensor_code_blocks(module);
}

}  // namespace halfbyte::bind
