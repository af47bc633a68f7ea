// One bit an element, lowest bit first: bit i % 8 of byte i / 8 says something of element i.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/element.hpp"
#include "tensor/isa.hpp"

namespace halfbyte::tensor {

constexpr std::size_t mask_bytes(std::size_t count) { return (count + 7) / 8; }

// bits[i] = x[i] > 0; NaN is not.
void pack_positive(const void* x, Element element, std::size_t count, std::uint8_t* bits, int num_threads);

struct MaskKernels {
  void (*positive_float32)(const float* x, std::size_t count, std::uint8_t* bits);
};
HALFBYTE_DECLARE_KERNELS(MaskKernels, mask_kernels)

}  // namespace halfbyte::tensor
