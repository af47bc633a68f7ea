#include <array>
#include <cstdint>
#include <string>
#include <tuple>

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>

#include "bind/arrays.hpp"
#include "bind/module.hpp"
#include "bind/tensor.hpp"
#include "tensor/error_bounded.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

using Address = std::uintptr_t;
using Grid = std::array<float, 4>;
using Lags = std::array<std::size_t, 3>;

tensor::ErrorBoundedFormat format_of(int element, int coder, const Grid& grid, const Lags& lags) {
  if (coder != 0 && coder != 1) refuse("coder is " + std::to_string(coder) + ", expected 0 or 1");
  return {.element = element_of(element),
          .coder = static_cast<tensor::Coder>(coder),
          .grid = {.bound = grid[0], .step = grid[1], .inverse = grid[2], .shift = grid[3]},
          .lorenzo = {{lags[0], lags[1], lags[2]}}};
}

int choose_lags(Address x, std::size_t count, int element, int coder, const Grid& grid, const Lags& lags, int fewest) {
  const tensor::ErrorBoundedFormat format = format_of(element, coder, grid, lags);
  const nb::gil_scoped_release release;
  return tensor::choose_lags(pointer<const void>(x), count, format, fewest);
}

std::tuple<std::size_t, std::size_t> encode(Address x, std::size_t count, int element, int coder, const Grid& grid,
                                            const Lags& lags, int num_threads, Address sizes) {
  const tensor::ErrorBoundedFormat format = format_of(element, coder, grid, lags);
  const nb::gil_scoped_release release;
  const tensor::ErrorBoundedSize size = tensor::error_bounded_encode(pointer<const void>(x), count, format,
                                                                     pointer<std::int32_t>(sizes), num_threads);
  return {size.bytes, size.outliers};
}

void gather(Address bytes, int num_threads) {
  const nb::gil_scoped_release release;
  tensor::error_bounded_gather(pointer<std::uint8_t>(bytes), num_threads);
}

bool decode(Address x, std::size_t count, int element, int coder, const Grid& grid, const Lags& lags, int num_threads,
            Address sizes, Address bytes, std::size_t num_bytes) {
  const tensor::ErrorBoundedFormat format = format_of(element, coder, grid, lags);
  const nb::gil_scoped_release release;
  return tensor::error_bounded_decode({pointer<const std::uint8_t>(bytes), num_bytes},
                                      pointer<const std::int32_t>(sizes), count, format, pointer<void>(x),
                                      num_threads);
}

}  // namespace

void add_tensor_error_bounded(nb::module_& module) {
  module.def("error_bounded_lags", &choose_lags, nb::arg("x"), nb::arg("count"), nb::arg("element"), nb::arg("coder"),
             nb::arg("grid"), nb::arg("lags"), nb::arg("fewest"),
             "How many of these lags to predict from, at least so many. Coder 0 is huffman, 1 fixed; the grid is "
             "bound, step, inverse of the step, and shift.");
  module.def("error_bounded_encode", &encode, nb::arg("x"), nb::arg("count"), nb::arg("element"), nb::arg("coder"),
             nb::arg("grid"), nb::arg("lags"), nb::arg("num_threads"), nb::arg("sizes"),
             "Codes pieces, to be fetched with error_bounded_gather by the same thread. Returns the bytes of all, and "
             "the number of outliers.");
  module.def("error_bounded_gather", &gather, nb::arg("bytes"), nb::arg("num_threads"),
             "The bytes that error_bounded_encode made.");
  module.def("error_bounded_decode", &decode, nb::arg("x"), nb::arg("count"), nb::arg("element"), nb::arg("coder"),
             nb::arg("grid"), nb::arg("lags"), nb::arg("num_threads"), nb::arg("sizes"), nb::arg("bytes"),
             nb::arg("num_bytes"), "The elements. Returns whether the bytes are sound.");
}

}  // namespace halfbyte::bind
