// Arithmetic of JPEG-ACT on lanes of floats: fixed point, rounding, quantization. For kernel files only.
#pragma once

#include "tensor/jpeg_act.hpp"
#include "tensor/lanes.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

inline bool is_whole(const TileGrid& grid) { return grid.height == 8 && grid.width == 8; }

// To integers, ties to even, for |v| < 2^22: next to 1.5 * 2^23 the last bit of a float is worth 1. Zero is +0.
template <class V>
V rounded(V v) {
  return (v + 0x1.8p23f) - 0x1.8p23f;
}

#if defined(__AVX512F__)

inline Lanes clipped(Lanes v, float low, float high) {
  return _mm512_min_ps(_mm512_max_ps(v, splat(low)), splat(high));
}
inline Lanes with_sign_of(Lanes v, Lanes magnitude) {  // which is not negative
  return _mm512_or_ps(magnitude, _mm512_and_ps(v, splat(-0.0f)));
}

#elif defined(__AVX2__)

inline Lanes clipped(Lanes v, float low, float high) {
  return _mm256_min_ps(_mm256_max_ps(v, splat(low)), splat(high));
}
inline Lanes with_sign_of(Lanes v, Lanes magnitude) {
  return _mm256_or_ps(magnitude, _mm256_and_ps(v, splat(-0.0f)));
}

#else

typedef std::int32_t LaneBits __attribute__((vector_size(16)));

inline Lanes clipped(Lanes v, float low, float high) {
  v = v > low ? v : splat(low);
  return v < high ? v : splat(high);
}
inline Lanes with_sign_of(Lanes v, Lanes magnitude) {
  return (Lanes)((LaneBits)magnitude | ((LaneBits)v & (LaneBits)splat(-0.0f)));
}

#endif

// The 8-bit fixed-point code of x, as a float.
template <class V>
V fixed_point(V x, V inverse) {
  return rounded(clipped(x * inverse, -128, 127));  // the bounds are integers: clipping first gives the same
}

// The code of a coefficient, before truncation and saturation. See JpegActTables.
template <Rounding kRounding, class V>
V quotient(V coefficient, V forward, V bias, V reciprocal) {
  const V c = rounded(coefficient * forward);
  return (kRounding == Rounding::truncate ? c : c + with_sign_of(c, bias)) * reciprocal;
}

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
