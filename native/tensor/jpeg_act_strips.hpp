// Strips: a line of eight elements from each of as many tiles as a register holds. For kernel files only.
//
//   kTiles                      2 with AVX-512, else 1; functions take a second tile all the same
//   load_strip(a, b)            eight elements from either place
//   store_strip(a, b, s, n)     the first n of either tile
//   of_tiles(f, g)              f in the lanes of the first tile, g in those of the second
//   of_columns(p)               eight floats, the same for each tile
//   transpose(s)                eight strips: lane i of strip j of a tile becomes lane j of strip i
//   pack(s, codes)              eight strips that are columns of quotients, truncated and saturated, in zig-zag order
//   unpack(codes, s)            the reverse
#pragma once

#include "tensor/jpeg_act_codes.hpp"
#include "tensor/jpeg_act_math.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

#if defined(__AVX512F__)

constexpr std::size_t kTiles = 2;
using Strip = __m512;

inline Strip load_strip(const float* a, const float* b) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(a)), _mm256_loadu_ps(b), 1);
}
template <class T>
Strip load_strip(const T* a, const T* b) {
  const auto eight = [](const T* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  return widen(_mm256_inserti128_si256(_mm256_castsi128_si256(eight(a)), eight(b), 1), T{});
}

inline void store_strip(float* a, float* b, Strip s, int n) {
  const auto part = static_cast<__mmask8>((1u << n) - 1);
  _mm256_mask_storeu_ps(a, part, _mm512_castps512_ps256(s));
  _mm256_mask_storeu_ps(b, part, _mm512_extractf32x8_ps(s, 1));
}
template <class T>
void store_strip(T* a, T* b, Strip s, int n) {
  const auto part = static_cast<__mmask8>((1u << n) - 1);
  const __m256i elements = narrow(s, T{});
  _mm_mask_storeu_epi16(a, part, _mm256_castsi256_si128(elements));
  _mm_mask_storeu_epi16(b, part, _mm256_extracti128_si256(elements, 1));
}

inline Strip of_tiles(float a, float b) { return _mm512_mask_mov_ps(splat(a), 0xff00, splat(b)); }
inline Strip of_columns(const float* p) { return _mm512_broadcast_f32x8(_mm256_loadu_ps(p)); }

[[gnu::always_inline]] inline void transpose(Strip* s) {
  __m512 pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(s[i], s[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(s[i], s[i + 1]);
  }
  __m512 fours[8];  // four lanes of strips 0 to 3, then of strips 4 to 7
  for (int i = 0; i < 8; i += 4) {
    fours[i] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    fours[i + 2] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
  const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  for (int i = 0; i < 4; ++i) {
    const __m512d low = _mm512_castps_pd(fours[i]), high = _mm512_castps_pd(fours[i + 4]);
    s[i] = _mm512_castpd_ps(_mm512_permutex2var_pd(low, even, high));
    s[i + 4] = _mm512_castpd_ps(_mm512_permutex2var_pd(low, odd, high));
  }
}

[[gnu::always_inline]] inline void pack(const Strip* s, Codes* codes) {
  const auto four = [](const Strip* columns) {
    const auto two = [](const Strip* pair) {
      return _mm512_packs_epi32(_mm512_cvttps_epi32(pair[0]), _mm512_cvttps_epi32(pair[1]));
    };
    return _mm512_packs_epi16(two(columns), two(columns + 2));
  };
  const __m512i left = four(s), right = four(s + 4);
  codes[0] = reordered<kPacksToZigzag>(_mm512_shuffle_i64x2(left, right, 0x44));
  codes[1] = reordered<kPacksToZigzag>(_mm512_shuffle_i64x2(left, right, 0xee));
}

[[gnu::always_inline]] inline void unpack(const Codes* codes, Strip* s) {
  const __m512i a = reordered<kZigzagToColumns>(codes[0]), b = reordered<kZigzagToColumns>(codes[1]);
  alignas(64) std::uint8_t columns[2][4][16];
  _mm512_store_si512(columns[0], _mm512_unpacklo_epi64(a, b));
  _mm512_store_si512(columns[1], _mm512_unpackhi_epi64(a, b));
  for (int i = 0; i < 8; ++i) {
    const __m128i column = _mm_load_si128(reinterpret_cast<const __m128i*>(columns[i % 2][i / 2]));
    s[i] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(column));
  }
}

#elif defined(__AVX2__)

constexpr std::size_t kTiles = 1;
using Strip = __m256;

template <class T>
Strip load_strip(const T* a, const T*) {
  return load(a);
}

inline void store_strip(float* a, float*, Strip s, int n) {
  if (n == 8) return store(a, s);
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm256_maskstore_ps(a, _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane), s);
}
template <class T>
void store_strip(T* a, T*, Strip s, int n) {
  n == 8 ? store(a, s) : store_part(a, s, static_cast<std::size_t>(n));
}

inline Strip of_tiles(float a, float) { return splat(a); }
inline Strip of_columns(const float* p) { return _mm256_loadu_ps(p); }

[[gnu::always_inline]] inline void transpose(Strip* s) {
  __m256 pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(s[i], s[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(s[i], s[i + 1]);
  }
  __m256 fours[8];
  for (int i = 0; i < 8; i += 4) {
    fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    s[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    s[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
}

[[gnu::always_inline]] inline void pack(const Strip* s, Codes* codes) {
  const auto four = [](const Strip* columns) {
    const auto two = [](const Strip* pair) {
      return _mm256_packs_epi32(_mm256_cvttps_epi32(pair[0]), _mm256_cvttps_epi32(pair[1]));
    };
    return _mm256_packs_epi16(two(columns), two(columns + 2));
  };
  codes[0] = reordered<kPacksToZigzag>(Codes{four(s), four(s + 4)});
}

[[gnu::always_inline]] inline void unpack(const Codes* codes, Strip* s) {
  std::uint8_t columns[8][8];
  store_codes(columns[0], reordered<kZigzagToColumns>(codes[0]));
  for (int i = 0; i < 8; ++i) {
    const __m128i column = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(columns[i]));
    s[i] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(column));
  }
}

#else

constexpr std::size_t kTiles = 1;
struct Strip {
  Lanes low, high;
};

inline Strip operator+(Strip a, Strip b) { return {a.low + b.low, a.high + b.high}; }
inline Strip operator-(Strip a, Strip b) { return {a.low - b.low, a.high - b.high}; }
inline Strip operator*(Strip a, Strip b) { return {a.low * b.low, a.high * b.high}; }
inline Strip operator+(Strip a, float b) { return {a.low + b, a.high + b}; }
inline Strip operator-(Strip a, float b) { return {a.low - b, a.high - b}; }
inline Strip operator*(Strip a, float b) { return {a.low * b, a.high * b}; }

inline Strip clipped(Strip s, float low, float high) {
  return {clipped(s.low, low, high), clipped(s.high, low, high)};
}
inline Strip with_sign_of(Strip s, Strip magnitude) {
  return {with_sign_of(s.low, magnitude.low), with_sign_of(s.high, magnitude.high)};
}

template <class T>
Strip load_strip(const T* a, const T*) {
  return {load(a), load(a + kLanes)};
}
template <class T>
void store_strip(T* a, T*, Strip s, int n) {
  T elements[8];
  store(elements, s.low);
  store(elements + kLanes, s.high);
  std::memcpy(a, elements, static_cast<std::size_t>(n) * sizeof(T));
}

inline Strip of_tiles(float a, float) { return {splat(a), splat(a)}; }
inline Strip of_columns(const float* p) { return {load(p), load(p + kLanes)}; }

[[gnu::always_inline]] inline void transpose(Strip* s) {
  float all[8][8];
  for (int i = 0; i < 8; ++i) store_strip(all[i], all[i], s[i], 8);
  for (int i = 0; i < 8; ++i) {
    float column[8];
    for (int j = 0; j < 8; ++j) column[j] = all[j][i];
    s[i] = load_strip(column, column);
  }
}

[[gnu::always_inline]] inline void pack(const Strip* s, Codes* codes) {
  float columns[64];
  std::int8_t bytes[64];
  for (int i = 0; i < 8; ++i) store_strip(columns + 8 * i, columns, clipped(s[i], -128, 127), 8);
  for (int i = 0; i < 64; ++i) bytes[i] = static_cast<std::int8_t>(columns[i]);
  for (int i = 0; i < 64; ++i) codes->code[i] = static_cast<std::uint8_t>(bytes[kColumnsToZigzag.from[i]]);
}

inline void unpack(const Codes* codes, Strip* s) {
  const Codes bytes = reordered<kZigzagToColumns>(*codes);
  float columns[64];
  for (int i = 0; i < 64; ++i) columns[i] = static_cast<std::int8_t>(bytes.code[i]);
  for (int i = 0; i < 8; ++i) s[i] = of_columns(columns + 8 * i);
}

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
