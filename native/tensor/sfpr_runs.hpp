// Fixed-point codes of consecutive elements, for sfpr_kernel.cpp. NaN becomes the lowest code.
#pragma once

#include "tensor/lanes.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

template <bool kUnsigned, bool kFactorEach>
struct Kind {
  static constexpr bool is_unsigned = kUnsigned;   // the codes
  static constexpr bool factor_each = kFactorEach;  // a factor for each element of a run, not one for all
};

template <class Kind>
Lanes factors(const float* table, std::size_t i) {
  return Kind::factor_each ? load(table + i) : splat(*table);
}

template <class Kind>
Lanes factors_part(const float* table, std::size_t i, std::size_t n) {
  return Kind::factor_each ? load_part(table + i, n) : splat(*table);
}

#if defined(__AVX2__)

// Twice kLanes elements.
template <class T>
void store_two(T* x, Lanes a, Lanes b) {
  store(x, a);
  store(x + kLanes, b);
}

#endif

#if defined(__AVX512F__)

// As store, but for NaN: a value is none, or the quiet one with no other bits, whose upper half rounding leaves alone.
inline void store_two(BFloat16* x, Lanes a, Lanes b) {
  const auto rounded = [](Lanes v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    return _mm512_srli_epi32(_mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
  };
  const __m512i order = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
  _mm512_storeu_si512(x, _mm512_permutexvar_epi64(order, _mm512_packus_epi32(rounded(a), rounded(b))));
}

// 64 integers, saturated to bytes. Packing goes by 128 bits, so the order is mended at the end.
template <class Kind>
__m512i to_bytes(__m512i a, __m512i b, __m512i c, __m512i d) {
  const __m512i ab = _mm512_packs_epi32(a, b), cd = _mm512_packs_epi32(c, d);
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes = Kind::is_unsigned ? _mm512_packus_epi16(ab, cd) : _mm512_packs_epi16(ab, cd);
  return _mm512_permutexvar_epi32(order, bytes);
}

inline Lanes load_where(const float* p, __mmask16 mask) { return _mm512_maskz_loadu_ps(mask, p); }

template <class T>
Lanes load_where(const T* p, __mmask16 mask) {
  return widen(_mm256_maskz_loadu_epi16(mask, p), T{});
}

// Up to 64 elements, those where a bit is set.
template <class Kind, class T>
void quantize_where(std::uint64_t mask, const T* x, const float* inverse, std::uint8_t* codes) {
  const auto scaled = [&](int i) {
    const auto sixteen = static_cast<__mmask16>(mask >> i);
    const Lanes factor = Kind::factor_each ? load_where(inverse + i, sixteen) : splat(*inverse);
    return _mm512_cvtps_epi32(load_where(x + i, sixteen) * factor);
  };
  _mm512_mask_storeu_epi8(codes, mask, to_bytes<Kind>(scaled(0), scaled(16), scaled(32), scaled(48)));
}

template <class Kind, class T>
void quantize_run(const T* x, const float* inverse, std::size_t n, std::uint8_t* codes) {
  std::size_t i = 0;
  for (; i + 64 <= n; i += 64) {
    const auto scaled = [&](std::size_t j) {
      return _mm512_cvtps_epi32(load(x + i + j) * factors<Kind>(inverse, i + j));
    };
    _mm512_storeu_si512(codes + i, to_bytes<Kind>(scaled(0), scaled(16), scaled(32), scaled(48)));
  }
  if (i == n) return;
  const std::uint64_t rest = _bzhi_u64(~std::uint64_t{0}, static_cast<unsigned>(n - i));
  quantize_where<Kind>(rest, x + i, Kind::factor_each ? inverse + i : inverse, codes + i);
}

template <class Kind>
Lanes to_lanes(__m128i codes) {
  return _mm512_cvtepi32_ps(Kind::is_unsigned ? _mm512_cvtepu8_epi32(codes) : _mm512_cvtepi8_epi32(codes));
}

template <class Kind, class T>
void dequantize_run(const std::uint8_t* codes, const float* scale, std::size_t n, T* x) {
  const auto at = [&](std::size_t i) {
    const __m128i sixteen = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + i));
    return to_lanes<Kind>(sixteen) * factors<Kind>(scale, i);
  };
  std::size_t i = 0;
  for (; i + 32 <= n; i += 32) store_two(x + i, at(i), at(i + 16));
  if (i + 16 <= n) {
    store(x + i, at(i));
    i += 16;
  }
  if (i == n) return;
  const __m128i rest = _mm_maskz_loadu_epi8(first_lanes(n - i), codes + i);
  store_part(x + i, to_lanes<Kind>(rest) * factors_part<Kind>(scale, i, n - i), n - i);
}

#elif defined(__AVX2__)

// As store, but for NaN: a value is none, or the quiet one with no other bits, whose upper half rounding leaves alone.
inline void store_two(BFloat16* x, Lanes a, Lanes b) {
  const auto rounded = [](Lanes v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    return _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
  };
  const __m256i both = _mm256_permute4x64_epi64(_mm256_packus_epi32(rounded(a), rounded(b)), 0b11011000);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(x), both);
}

template <class Kind>
void store_eight(std::uint8_t* codes, Lanes scaled) {
  const __m256i integers = _mm256_cvtps_epi32(scaled);
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(integers), _mm256_extracti128_si256(integers, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(codes),
                   Kind::is_unsigned ? _mm_packus_epi16(words, words) : _mm_packs_epi16(words, words));
}

// 32 integers, saturated to bytes. Packing goes by 128 bits, so the order is mended at the end.
template <class Kind>
__m256i to_bytes(__m256i a, __m256i b, __m256i c, __m256i d) {
  const __m256i ab = _mm256_packs_epi32(a, b), cd = _mm256_packs_epi32(c, d);
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i bytes = Kind::is_unsigned ? _mm256_packus_epi16(ab, cd) : _mm256_packs_epi16(ab, cd);
  return _mm256_permutevar8x32_epi32(bytes, order);
}

// The last step goes back to where it is whole, and writes some codes twice.
template <class Kind, class T>
void quantize_run(const T* x, const float* inverse, std::size_t n, std::uint8_t* codes) {
  const auto at = [&](std::size_t i) { return load(x + i) * factors<Kind>(inverse, i); };
  if (n >= 32) {
    for (std::size_t i = 0;; i = i + 64 <= n ? i + 32 : n - 32) {
      const auto scaled = [&](std::size_t j) { return _mm256_cvtps_epi32(at(i + j)); };
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(codes + i),
                          to_bytes<Kind>(scaled(0), scaled(8), scaled(16), scaled(24)));
      if (i + 32 == n) return;
    }
  }
  if (n >= 8) {
    for (std::size_t i = 0;; i = i + 16 <= n ? i + 8 : n - 8) {
      store_eight<Kind>(codes + i, at(i));
      if (i + 8 == n) return;
    }
  }
  std::uint8_t few[8];
  store_eight<Kind>(few, load_part(x, n) * factors_part<Kind>(inverse, 0, n));
  std::memcpy(codes, few, n);
}

template <class Kind>
Lanes load_eight(const std::uint8_t* codes) {
  const __m128i eight = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes));
  return _mm256_cvtepi32_ps(Kind::is_unsigned ? _mm256_cvtepu8_epi32(eight) : _mm256_cvtepi8_epi32(eight));
}

template <class Kind, class T>
void dequantize_run(const std::uint8_t* codes, const float* scale, std::size_t n, T* x) {
  const auto at = [&](std::size_t i) { return load_eight<Kind>(codes + i) * factors<Kind>(scale, i); };
  if (n >= 16) {
    for (std::size_t i = 0;; i = i + 32 <= n ? i + 16 : n - 16) {
      store_two(x + i, at(i), at(i + 8));
      if (i + 16 == n) return;
    }
  }
  if (n >= 8) {
    store(x, at(0));
    store(x + n - 8, at(n - 8));
    return;
  }
  std::uint8_t few[8] = {};
  std::memcpy(few, codes, n);
  store_part(x, load_eight<Kind>(few) * factors_part<Kind>(scale, 0, n), n);
}

#else

template <class Kind, class T>
void quantize_run(const T* x, const float* inverse, std::size_t n, std::uint8_t* codes) {
  const float low = Kind::is_unsigned ? 0 : -128, high = Kind::is_unsigned ? 255 : 127;
  const float round = 0x1.8p23f;  // next to it the last bit of a float is worth 1
  for (std::size_t i = 0; i < n; ++i) {
    const float rounded = to_float(x[i]) * inverse[Kind::factor_each ? i : 0] + round - round;
    const float raised = rounded > low ? rounded : low;
    codes[i] = static_cast<std::uint8_t>(static_cast<int>(raised < high ? raised : high));
  }
}

template <class Kind, class T>
void dequantize_run(const std::uint8_t* codes, const float* scale, std::size_t n, T* x) {
  for (std::size_t i = 0; i < n; ++i) {
    const int code = Kind::is_unsigned ? codes[i] : static_cast<std::int8_t>(codes[i]);
    x[i] = from_float<T>(static_cast<float>(code) * scale[Kind::factor_each ? i : 0]);
  }
}

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
