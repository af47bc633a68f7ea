// One bit an element, lowest bit first: bit i % 8 of byte i / 8 says something of element i. Bits after the last
// element are 0. What is not a number to a function is an unsigned integer of `width` 1, 2 or 4 bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/element.hpp"
#include "base/isa.hpp"

namespace halfbyte::tensor {

constexpr std::size_t mask_bytes(std::size_t count) { return (count + 7) / 8; }

// bits[i] = x[i] > 0 or NaN. Returns whether any is NaN.
bool pack_positive(const void* x, Element element, std::size_t count, std::uint8_t* bits, int num_threads);

// bits[i] = any bit of x[i] is set.
void pack_nonzero(const void* x, std::size_t width, std::size_t count, std::uint8_t* bits, int num_threads);

// out[i] = bits[i] ? pattern : 0.
void unpack_bits(const std::uint8_t* bits, std::size_t count, std::uint32_t pattern, std::size_t width, void* out,
                 int num_threads);

// x[i] = bits[i] ? x[i] : 0, for width 2 or 4. Zeros are +0, whatever was there.
void apply_mask(const std::uint8_t* bits, std::size_t count, std::size_t width, void* x, int num_threads);

struct MaskKernels {
  bool (*positive_float32)(const float* x, std::size_t count, std::uint8_t* bits);
  bool (*positive_bfloat16)(const BFloat16* x, std::size_t count, std::uint8_t* bits);
  bool (*positive_float16)(const Float16* x, std::size_t count, std::uint8_t* bits);
  void (*nonzero_8)(const std::uint8_t* x, std::size_t count, std::uint8_t* bits);
  void (*nonzero_16)(const std::uint16_t* x, std::size_t count, std::uint8_t* bits);
  void (*nonzero_32)(const std::uint32_t* x, std::size_t count, std::uint8_t* bits);
  void (*unpack_8)(const std::uint8_t* bits, std::size_t count, std::uint8_t pattern, std::uint8_t* out);
  void (*unpack_16)(const std::uint8_t* bits, std::size_t count, std::uint16_t pattern, std::uint16_t* out);
  void (*unpack_32)(const std::uint8_t* bits, std::size_t count, std::uint32_t pattern, std::uint32_t* out);
  void (*apply_16)(const std::uint8_t* bits, std::size_t count, std::uint16_t* x);
  void (*apply_32)(const std::uint8_t* bits, std::size_t count, std::uint32_t* x);
};
HALFBYTE_DECLARE_KERNELS(MaskKernels, mask_kernels)

}  // namespace halfbyte::tensor
