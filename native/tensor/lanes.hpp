// A few floats at once, read from and written to elements of any type. For *_kernel.cpp files only: everything here has
// internal linkage, so that each instruction set keeps its own, and nothing of the standard library is instantiated.
//
//   kLanes                  how many: 16 with AVX-512, 8 with AVX2, else 4
//   Lanes                   that many floats; + - * / and unary - work on all compilers we build with
//   splat(f)                f in every lane
//   load(p), store(p, v)    kLanes elements from or to `float*`, `BFloat16*` or `Float16*`; no alignment is asked for
//   load_part(p, n)         the first n <= kLanes elements; nothing else is read, the other lanes are 0
//   store_part(p, v, n)     likewise; nothing else is written
//   nearest(v)              to integers, ties to even, for all |v|; keeps the sign of zero
//   to_float(e), from_float<T>(f)   the same conversions for one element
//
// Same bits on every instruction set. Narrowing rounds to nearest, ties to even; NaN stays a (quiet) NaN.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/element.hpp"

#if defined(__AVX2__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"  // GCC 12 warns of its own _mm512_undefined_epi32
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#include <immintrin.h>
#pragma GCC diagnostic pop
#endif

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

inline std::uint32_t bits_of(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline float float_of(std::uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline float to_float(float value) { return value; }

inline float to_float(BFloat16 value) { return float_of(static_cast<std::uint32_t>(value.bits) << 16); }

inline float to_float(Float16 value) {
  const std::uint32_t sign = (value.bits & 0x8000u) << 16;
  const std::uint32_t shifted = (value.bits & 0x7fffu) << 13;
  const std::uint32_t exponent = shifted & 0x0f800000u;
  if (exponent == 0x0f800000u) {  // infinite or NaN
    const std::uint32_t quiet = (shifted & 0x007fffffu) != 0 ? 0x00400000u : 0;
    return float_of(sign | 0x7f800000u | shifted | quiet);
  }
  if (exponent != 0) return float_of(sign | (shifted + (112u << 23)));
  // Subnormal: as the fraction of a float in [2^-14, 2^-13), of which the 2^-14 is taken away again.
  return float_of(sign | bits_of(float_of(shifted + (113u << 23)) - float_of(113u << 23)));
}

template <class T>
T from_float(float value);

template <>
inline float from_float<float>(float value) {
  return value;
}

template <>
inline BFloat16 from_float<BFloat16>(float value) {
  const std::uint32_t bits = bits_of(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>(bits >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16)};
}

template <>
inline Float16 from_float<Float16>(float value) {
  const std::uint32_t bits = bits_of(value);
  const std::uint32_t sign = bits >> 16 & 0x8000u;
  const std::uint32_t size = bits & 0x7fffffffu;
  std::uint32_t half;
  if (size > 0x7f800000u) {
    half = 0x7e00u | (size >> 13 & 0x3ffu);
  } else if (size >= 143u << 23) {  // 2^16 and more
    half = 0x7c00u;
  } else if (size < 113u << 23) {
    // Subnormal: next to 0.5 the last bit of a float is worth 2^-24, the last bit of a subnormal half.
    half = bits_of(float_of(size) + 0.5f) - bits_of(0.5f);
  } else {
    half = (size - (112u << 23) + 0xfffu + (size >> 13 & 1u)) >> 13;
  }
  return {static_cast<std::uint16_t>(sign | half)};
}

#if defined(__AVX512F__)

constexpr std::size_t kLanes = 16;
using Lanes = __m512;

inline Lanes splat(float value) { return _mm512_set1_ps(value); }
inline Lanes nearest(Lanes v) { return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

inline Lanes widen(__m256i elements, BFloat16) {
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(elements), 16));
}
inline Lanes widen(__m256i elements, Float16) { return _mm512_cvtph_ps(elements); }

inline __m256i narrow(Lanes v, BFloat16) {
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i high = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd), 16);
  const __mmask16 nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  return _mm512_cvtepi32_epi16(_mm512_mask_or_epi32(rounded, nan, high, _mm512_set1_epi32(0x40)));
}
inline __m256i narrow(Lanes v, Float16) { return _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

inline __mmask16 first_lanes(std::size_t n) { return static_cast<__mmask16>((1u << n) - 1); }

inline Lanes load(const float* p) { return _mm512_loadu_ps(p); }
inline Lanes load_part(const float* p, std::size_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
inline void store(float* p, Lanes v) { _mm512_storeu_ps(p, v); }
inline void store_part(float* p, Lanes v, std::size_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }

template <class T>
Lanes load(const T* p) {
  return widen(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)), T{});
}
template <class T>
Lanes load_part(const T* p, std::size_t n) {
  return widen(_mm256_maskz_loadu_epi16(first_lanes(n), p), T{});
}
template <class T>
void store(T* p, Lanes v) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), narrow(v, T{}));
}
template <class T>
void store_part(T* p, Lanes v, std::size_t n) {
  _mm256_mask_storeu_epi16(p, first_lanes(n), narrow(v, T{}));
}

#else

#if defined(__AVX2__)

constexpr std::size_t kLanes = 8;
using Lanes = __m256;

inline Lanes splat(float value) { return _mm256_set1_ps(value); }
inline Lanes nearest(Lanes v) { return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

inline Lanes widen(__m128i elements, BFloat16) {
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(elements), 16));
}
inline Lanes widen(__m128i elements, Float16) { return _mm256_cvtph_ps(elements); }

inline __m128i narrow(Lanes v, BFloat16) {
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i high = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd), 16);
  const __m256i quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
  const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  const __m256i chosen = _mm256_blendv_epi8(rounded, quiet, nan);
  return _mm_packus_epi32(_mm256_castsi256_si128(chosen), _mm256_extracti128_si256(chosen, 1));
}
inline __m128i narrow(Lanes v, Float16) { return _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }

inline Lanes load(const float* p) { return _mm256_loadu_ps(p); }
inline void store(float* p, Lanes v) { _mm256_storeu_ps(p, v); }

template <class T>
Lanes load(const T* p) {
  return widen(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)), T{});
}
template <class T>
void store(T* p, Lanes v) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(p), narrow(v, T{}));
}

#else

constexpr std::size_t kLanes = 4;
typedef float Lanes __attribute__((vector_size(16)));

inline Lanes splat(float value) { return Lanes{value, value, value, value}; }

inline Lanes nearest(Lanes v) {
  for (std::size_t i = 0; i < kLanes; ++i) {
    const std::uint32_t sign = bits_of(v[i]) & 0x80000000u;
    const float size = float_of(bits_of(v[i]) & 0x7fffffffu);
    // Next to 2^23 the last bit of a float is worth 1; from there on every float is an integer.
    v[i] = float_of(sign | bits_of(size < 0x1p23f ? size + 0x1p23f - 0x1p23f : size));
  }
  return v;
}

template <class T>
Lanes load(const T* p) {
  return Lanes{to_float(p[0]), to_float(p[1]), to_float(p[2]), to_float(p[3])};
}
template <class T>
void store(T* p, Lanes v) {
  for (std::size_t i = 0; i < kLanes; ++i) p[i] = from_float<T>(v[i]);
}

#endif

template <class T>
Lanes load_part(const T* p, std::size_t n) {
  T elements[kLanes] = {};
  std::memcpy(elements, p, n * sizeof(T));
  return load(elements);
}
template <class T>
void store_part(T* p, Lanes v, std::size_t n) {
  T elements[kLanes];
  store(elements, v);
  std::memcpy(p, elements, n * sizeof(T));
}

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
