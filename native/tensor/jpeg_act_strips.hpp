// Strips: a line of eight elements from each of several tiles, in two registers. Two, because a tile is one long chain
// of steps that wait for each other: processors keep busy when they see the steps of two chains side by side (a sixth
// faster than one, measured). For kernel files only.
//
//   kTiles                     4 with AVX-512, 2 with AVX2, else 1
//   load_strip(tiles)          eight elements from each of kTiles places
//   store_strip(tiles, s, n)   the first n of them, likewise
//   of_tiles(f)                f[k] in the lanes of tile k
//   of_columns(p)              eight floats, the same for each tile
//   transpose(s)               eight strips: lane i of strip j of a tile becomes lane j of strip i
//   pack(s, codes)             eight strips that are columns of quotients, truncated and saturated, in zig-zag order
//   unpack(codes, s)           the reverse
#pragma once

#include "tensor/jpeg_act_codes.hpp"
#include "tensor/jpeg_act_math.hpp"
#include "tensor/jpeg_act_transpose.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

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

#if defined(__AVX2__)

// each(half, i): the i-th half of eight strips.
template <class Each>
[[gnu::always_inline]] inline void for_halves(Strip* s, Each each) {
  Lanes low[8], high[8];
  for (int i = 0; i < 8; ++i) {
    low[i] = s[i].low;
    high[i] = s[i].high;
  }
  each(low, 0);
  each(high, 1);
  for (int i = 0; i < 8; ++i) s[i] = {low[i], high[i]};
}

#endif

#if defined(__AVX512F__)

constexpr std::size_t kTiles = 4;

inline Lanes load_two(const float* a, const float* b) {
  return _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_loadu_ps(a)), _mm256_loadu_ps(b), 1);
}
template <class T>
Lanes load_two(const T* a, const T* b) {
  const auto eight = [](const T* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); };
  return widen(_mm256_inserti128_si256(_mm256_castsi128_si256(eight(a)), eight(b), 1), T{});
}
template <class T>
Strip load_strip(const T* const* tiles) {
  return {load_two(tiles[0], tiles[1]), load_two(tiles[2], tiles[3])};
}

inline void store_two(float* a, float* b, Lanes v, __mmask8 part) {
  _mm256_mask_storeu_ps(a, part, _mm512_castps512_ps256(v));
  _mm256_mask_storeu_ps(b, part, _mm512_extractf32x8_ps(v, 1));
}
template <class T>
void store_two(T* a, T* b, Lanes v, __mmask8 part) {
  const __m256i elements = narrow(v, T{});
  _mm_mask_storeu_epi16(a, part, _mm256_castsi256_si128(elements));
  _mm_mask_storeu_epi16(b, part, _mm256_extracti128_si256(elements, 1));
}
template <class T>
void store_strip(T* const* tiles, Strip s, int n) {
  const auto part = static_cast<__mmask8>((1u << n) - 1);
  store_two(tiles[0], tiles[1], s.low, part);
  store_two(tiles[2], tiles[3], s.high, part);
}

inline Strip of_tiles(const float* f) {
  const auto two = [](const float* p) { return _mm512_mask_mov_ps(splat(p[0]), 0xff00, splat(p[1])); };
  return {two(f), two(f + 2)};
}
inline Strip of_columns(const float* p) {
  const Lanes twice = _mm512_broadcast_f32x8(_mm256_loadu_ps(p));
  return {twice, twice};
}

[[gnu::always_inline]] inline void pack_lanes(const Lanes* v, Codes* codes) {
  const auto four = [](const Lanes* columns) {
    const auto two = [](const Lanes* pair) {
      return _mm512_packs_epi32(_mm512_cvttps_epi32(pair[0]), _mm512_cvttps_epi32(pair[1]));
    };
    return _mm512_packs_epi16(two(columns), two(columns + 2));
  };
  const __m512i left = four(v), right = four(v + 4);
  codes[0] = reordered<kPacksToZigzag>(_mm512_shuffle_i64x2(left, right, 0x44));
  codes[1] = reordered<kPacksToZigzag>(_mm512_shuffle_i64x2(left, right, 0xee));
}

[[gnu::always_inline]] inline void unpack_lanes(const Codes* codes, Lanes* v) {
  const __m512i a = reordered<kZigzagToColumns>(codes[0]), b = reordered<kZigzagToColumns>(codes[1]);
  alignas(64) std::uint8_t columns[2][4][16];
  _mm512_store_si512(columns[0], _mm512_unpacklo_epi64(a, b));
  _mm512_store_si512(columns[1], _mm512_unpackhi_epi64(a, b));
  for (int i = 0; i < 8; ++i) {
    const __m128i column = _mm_load_si128(reinterpret_cast<const __m128i*>(columns[i % 2][i / 2]));
    v[i] = _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(column));
  }
}

#elif defined(__AVX2__)

constexpr std::size_t kTiles = 2;

template <class T>
Strip load_strip(const T* const* tiles) {
  return {load(tiles[0]), load(tiles[1])};
}

inline void store_some(float* p, Lanes v, int n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm256_maskstore_ps(p, _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane), v);
}
template <class T>
void store_some(T* p, Lanes v, int n) {
  store_part(p, v, static_cast<std::size_t>(n));
}
template <class T>
void store_strip(T* const* tiles, Strip s, int n) {
  n == 8 ? store(tiles[0], s.low) : store_some(tiles[0], s.low, n);
  n == 8 ? store(tiles[1], s.high) : store_some(tiles[1], s.high, n);
}

inline Strip of_tiles(const float* f) { return {splat(f[0]), splat(f[1])}; }
inline Strip of_columns(const float* p) { return {load(p), load(p)}; }

[[gnu::always_inline]] inline void pack_lanes(const Lanes* v, Codes* codes) {
  const auto four = [](const Lanes* columns) {
    const auto two = [](const Lanes* pair) {
      return _mm256_packs_epi32(_mm256_cvttps_epi32(pair[0]), _mm256_cvttps_epi32(pair[1]));
    };
    return _mm256_packs_epi16(two(columns), two(columns + 2));
  };
  *codes = reordered<kPacksToZigzag>(Codes{four(v), four(v + 4)});
}

[[gnu::always_inline]] inline void unpack_lanes(const Codes* codes, Lanes* v) {
  std::uint8_t columns[8][8];
  store_codes(columns[0], reordered<kZigzagToColumns>(*codes));
  for (int i = 0; i < 8; ++i) {
    const __m128i column = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(columns[i]));
    v[i] = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(column));
  }
}

#else

constexpr std::size_t kTiles = 1;

template <class T>
Strip load_strip(const T* const* tiles) {
  return {load(tiles[0]), load(tiles[0] + kLanes)};
}
template <class T>
void store_strip(T* const* tiles, Strip s, int n) {
  T elements[8];
  store(elements, s.low);
  store(elements + kLanes, s.high);
  std::memcpy(tiles[0], elements, static_cast<std::size_t>(n) * sizeof(T));
}

inline Strip of_tiles(const float* f) { return {splat(*f), splat(*f)}; }
inline Strip of_columns(const float* p) { return {load(p), load(p + kLanes)}; }

// The floats of eight strips.
inline void to_memory(const Strip* s, float* lines) {
  for (int i = 0; i < 8; ++i) {
    store(lines + 8 * i, s[i].low);
    store(lines + 8 * i + kLanes, s[i].high);
  }
}

inline void transpose(Strip* s) {
  float lines[64];
  to_memory(s, lines);
  for (int i = 0; i < 8; ++i) {
    float column[8];
    for (int j = 0; j < 8; ++j) column[j] = lines[8 * j + i];
    s[i] = of_columns(column);
  }
}

inline void pack(const Strip* s, Codes* codes) {
  Strip saturated[8];
  float columns[64];
  std::int8_t bytes[64];
  for (int i = 0; i < 8; ++i) saturated[i] = clipped(s[i], -128, 127);
  to_memory(saturated, columns);
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

#if defined(__AVX2__)

[[gnu::always_inline]] inline void transpose(Strip* s) {
  for_halves(s, [](Lanes* half, int) { transpose_lanes(half); });
}
[[gnu::always_inline]] inline void pack(Strip* s, Codes* codes) {
  for_halves(s, [&](Lanes* half, int i) { pack_lanes(half, codes + i * static_cast<int>(kTiles / 2)); });
}
[[gnu::always_inline]] inline void unpack(const Codes* codes, Strip* s) {
  for_halves(s, [&](Lanes* half, int i) { unpack_lanes(codes + i * static_cast<int>(kTiles / 2), half); });
}

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
