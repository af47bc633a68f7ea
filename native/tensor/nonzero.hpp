// Which of 64 elements are not 0 (-0.0 is, NaN is not), for kernel files. They are compared as integers, so that a
// processor that takes subnormal numbers for 0 is not asked.
#pragma once

#include "tensor/lanes.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

#if defined(__AVX512F__)

inline std::uint64_t nonzero64(const float* x) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  const auto at = [&](int i) {
    return std::uint64_t{_mm512_test_epi32_mask(_mm512_loadu_si512(x + 16 * i), magnitude)} << (16 * i);
  };
  return at(0) | at(1) | at(2) | at(3);
}

template <class T>
std::uint64_t nonzero64(const T* x) {
  const __m512i magnitude = _mm512_set1_epi16(0x7fff);
  const auto at = [&](int i) {
    return std::uint64_t{_mm512_test_epi16_mask(_mm512_loadu_si512(x + 32 * i), magnitude)} << (32 * i);
  };
  return at(0) | at(1);
}

#elif defined(__AVX2__)

inline std::uint64_t nonzero64(const float* x) {
  std::uint64_t zero = 0;
  for (int i = 0; i < 64; i += 8) {
    const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i));
    const __m256i is_zero = _mm256_cmpeq_epi32(_mm256_slli_epi32(bits, 1), _mm256_setzero_si256());
    zero |= std::uint64_t{static_cast<unsigned>(_mm256_movemask_ps(_mm256_castsi256_ps(is_zero)))} << i;
  }
  return ~zero;
}

template <class T>
std::uint64_t nonzero64(const T* x) {
  std::uint64_t zero = 0;
  for (int i = 0; i < 64; i += 32) {
    const auto is_zero = [&](int j) {
      const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(x + i + j));
      return _mm256_cmpeq_epi16(_mm256_slli_epi16(bits, 1), _mm256_setzero_si256());
    };
    const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packs_epi16(is_zero(0), is_zero(16)), 0b11011000);
    zero |= std::uint64_t{static_cast<unsigned>(_mm256_movemask_epi8(bytes))} << i;
  }
  return ~zero;
}

#else

inline bool is_zero(float x) { return (bits_of(x) & 0x7fffffffu) == 0; }

template <class T>
bool is_zero(T x) {
  return (x.bits & 0x7fffu) == 0;
}

template <class T>
std::uint64_t nonzero64(const T* x) {
  std::uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) mask |= std::uint64_t{!is_zero(x[i])} << i;
  return mask;
}

#endif

// Of up to 63 elements.
template <class T>
std::uint64_t nonzero_part(const T* x, std::size_t n) {
  T elements[64] = {};
  std::memcpy(elements, x, n * sizeof(T));
  return nonzero64(elements);
}

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
