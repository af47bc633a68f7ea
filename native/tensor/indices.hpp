// Integers in the narrowest type that holds them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.hpp"

namespace halfbyte::tensor {

enum class Integer : int { uint8 = 0, int16, int32, int64 };

constexpr std::size_t size_of(Integer type) {
  constexpr std::size_t kSizes[] = {1, 2, 4, 8};
  return kSizes[static_cast<std::size_t>(type)];
}

struct Range {
  std::int64_t least;
  std::int64_t greatest;
};

// Of one element at least.
Range range_of(const void* x, Integer type, std::size_t count, int num_threads);

// out[i] = x[i], which the type of `out` must hold: a wider one does, a narrower one within its range.
void convert_integers(const void* x, Integer from, std::size_t count, void* out, Integer to, int num_threads);

struct IndexKernels {
  Range (*range[4])(const void* x, std::size_t count);
  void (*convert[4][4])(const void* x, std::size_t count, void* out);  // [from][to]
};
HALFBYTE_DECLARE_KERNELS(IndexKernels, index_kernels)

}  // namespace halfbyte::tensor
