// Elements of a tensor: float32, bfloat16 and float16 as stored, computed with as float32. Conversions round to nearest,
// ties to even, as IEEE 754 and torch do; kernels with instructions of their own for this give the same bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace halfbyte::tensor {

enum class Element : int { float32 = 0, bfloat16, float16 };

constexpr std::size_t size_of(Element element) { return element == Element::float32 ? 4 : 2; }

// Types of their own, so that kernels are templates over what they read.
struct BFloat16 {
  std::uint16_t bits;
};
struct Float16 {
  std::uint16_t bits;
};

}  // namespace halfbyte::tensor
