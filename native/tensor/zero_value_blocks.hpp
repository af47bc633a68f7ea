// A block of 64 elements to the values among them, and back. For *_kernel.cpp files only, as lanes.hpp is. An element
// is held as it is (an unsigned integer), or a float as a half.
//
//   compact(bits, x, out, end)   the elements whose bit is set to `out`; returns the place after the last of them
//   expand(bits, in, end, x)     elements from the values at `in`, zeros where no bit is set; returns likewise
//
// `end` is that of the values of the piece: nothing is read or written from there on.
#pragma once

#include "tensor/masks_blocks.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

#if defined(__AVX2__)

inline std::size_t num_set(std::uint64_t bits) { return static_cast<std::size_t>(_mm_popcnt_u64(bits)); }

#else

inline std::size_t num_set(std::uint64_t bits) { return static_cast<std::size_t>(__builtin_popcountll(bits)); }

inline std::uint16_t held_as(std::uint16_t x, std::uint16_t) { return x; }
inline std::uint32_t held_as(std::uint32_t x, std::uint32_t) { return x; }
template <class Half>
Half held_as(float x, Half) {
  return from_float<Half>(x);
}

inline std::uint16_t taken_from(std::uint16_t value, std::uint16_t) { return value; }
inline std::uint32_t taken_from(std::uint32_t value, std::uint32_t) { return value; }
template <class Half>
float taken_from(Half value, float) {
  return to_float(value);
}

template <class Element, class Value>
Value* compact(std::uint64_t bits, const Element* x, Value* out, const Value*) {
  for (; bits != 0; bits &= bits - 1) *out++ = held_as(x[__builtin_ctzll(bits)], Value{});
  return out;
}

template <class Element, class Value>
const Value* expand(std::uint64_t bits, const Value* in, const Value*, Element* x) {
  for (std::size_t i = 0; i < kBlock; ++i) x[i] = Element{};
  for (; bits != 0; bits &= bits - 1) x[__builtin_ctzll(bits)] = taken_from(*in++, Element{});
  return in;
}

#endif

#if defined(__AVX512F__)

inline std::uint32_t first_bits(std::size_t n) { return static_cast<std::uint32_t>((std::uint64_t{1} << n) - 1); }

inline void compact_group(std::uint64_t bits, const std::uint16_t* x, std::uint16_t* out, std::size_t n) {
  const __m512i values = _mm512_maskz_compress_epi16(static_cast<__mmask32>(bits), load_512(x));
  _mm512_mask_storeu_epi16(out, first_bits(n), values);
}
inline void compact_group(std::uint64_t bits, const std::uint32_t* x, std::uint32_t* out, std::size_t n) {
  const __m512i values = _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), load_512(x));
  _mm512_mask_storeu_epi32(out, first_lanes(n), values);
}
template <class Half>
void compact_group(std::uint64_t bits, const float* x, Half* out, std::size_t n) {
  store_part(out, _mm512_maskz_compress_ps(static_cast<__mmask16>(bits), load(x)), n);
}

inline void expand_group(std::uint64_t bits, const std::uint16_t* in, std::uint16_t* x) {
  _mm512_storeu_si512(x, _mm512_maskz_expandloadu_epi16(static_cast<__mmask32>(bits), in));
}
inline void expand_group(std::uint64_t bits, const std::uint32_t* in, std::uint32_t* x) {
  _mm512_storeu_si512(x, _mm512_maskz_expandloadu_epi32(static_cast<__mmask16>(bits), in));
}
template <class Half>
void expand_group(std::uint64_t bits, const Half* in, float* x) {
  store(x, widen(_mm256_maskz_expandloadu_epi16(static_cast<__mmask16>(bits), in), Half{}));
}

// As many elements as one vector holds.
template <class Element>
constexpr std::size_t kGroup = 64 / sizeof(Element);

inline std::size_t set_in_group(std::uint64_t bits, std::size_t group) {
  return num_set(bits & (~std::uint64_t{0} >> (64 - group)));
}

template <class Element, class Value>
Value* compact(std::uint64_t bits, const Element* x, Value* out, const Value*) {
  for (std::size_t i = 0; i < kBlock; i += kGroup<Element>, bits >>= kGroup<Element> % 64) {
    const std::size_t n = set_in_group(bits, kGroup<Element>);
    compact_group(bits, x + i, out, n);
    out += n;
  }
  return out;
}

template <class Element, class Value>
const Value* expand(std::uint64_t bits, const Value* in, const Value*, Element* x) {
  for (std::size_t i = 0; i < kBlock; i += kGroup<Element>, bits >>= kGroup<Element> % 64) {
    expand_group(bits, in, x + i);
    in += set_in_group(bits, kGroup<Element>);
  }
  return in;
}

#elif defined(__AVX2__)

constexpr std::size_t kGroup = 8;  // elements; their bits are an index into these tables

struct LaneTables {
  std::uint8_t compact[256][kGroup] = {};  // which elements the values are
  std::uint8_t expand[256][kGroup] = {};   // which values the elements are; where no bit is set, something above 63

  constexpr LaneTables() {
    for (unsigned bits = 0; bits < 256; ++bits) {
      std::uint8_t n = 0;
      for (std::uint8_t i = 0; i < kGroup; ++i) {
        const bool set = (bits >> i & 1) != 0;
        expand[bits][i] = set ? n : 64;
        if (set) compact[bits][n++] = i;
      }
    }
  }
};
constexpr LaneTables kTables;

inline __m128i lanes_8(const std::uint8_t (&table)[kGroup]) {
  return _mm_loadl_epi64(reinterpret_cast<const __m128i*>(table));
}
// From indices of 16-bit lanes to those of their bytes; 64 becomes 128, which the shuffle takes for "zero".
inline __m128i as_bytes(__m128i lanes) {
  const __m128i low = _mm_add_epi8(lanes, lanes);
  return _mm_unpacklo_epi8(low, _mm_add_epi8(low, _mm_set1_epi8(1)));
}
inline __m128i shuffle_16(__m128i elements, const std::uint8_t (&table)[kGroup]) {
  return _mm_shuffle_epi8(elements, as_bytes(lanes_8(table)));
}
inline __m256i shuffle_32(__m256i elements, const std::uint8_t (&table)[kGroup]) {
  return _mm256_permutevar8x32_epi32(elements, _mm256_cvtepu8_epi32(lanes_8(table)));
}
inline __m128i load_128(const void* x) { return _mm_loadu_si128(static_cast<const __m128i*>(x)); }

inline void compact_group(std::uint8_t bits, const std::uint16_t* x, std::uint16_t* out) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(out), shuffle_16(load_128(x), kTables.compact[bits]));
}
inline void compact_group(std::uint8_t bits, const std::uint32_t* x, std::uint32_t* out) {
  store_256(out, shuffle_32(load_256(x), kTables.compact[bits]));
}
template <class Half>
void compact_group(std::uint8_t bits, const float* x, Half* out) {
  store(out, _mm256_castsi256_ps(shuffle_32(load_256(x), kTables.compact[bits])));
}

inline void expand_group(std::uint8_t bits, const std::uint16_t* in, std::uint16_t* x) {
  _mm_storeu_si128(reinterpret_cast<__m128i*>(x), shuffle_16(load_128(in), kTables.expand[bits]));
}
inline void expand_group(std::uint8_t bits, const std::uint32_t* in, std::uint32_t* x) {
  const __m256i elements = shuffle_32(load_256(in), kTables.expand[bits]);
  store_256(x, _mm256_and_si256(elements, lanes_of(bits, std::uint32_t{})));
}
template <class Half>
void expand_group(std::uint8_t bits, const Half* in, float* x) {
  store(x, widen(shuffle_16(load_128(in), kTables.expand[bits]), Half{}));
}

template <class Element, class Value>
Value* compact(std::uint64_t bits, const Element* x, Value* out, const Value* end) {
  for (std::size_t i = 0; i < kBlock; i += kGroup) {
    const auto group = static_cast<std::uint8_t>(bits >> i);
    const std::size_t n = num_set(group);
    if (static_cast<std::size_t>(end - out) >= kGroup) {
      compact_group(group, x + i, out);  // what it writes too much, the next group overwrites
    } else {
      Value values[kGroup];
      compact_group(group, x + i, values);
      for (std::size_t k = 0; k < n; ++k) out[k] = values[k];
    }
    out += n;
  }
  return out;
}

template <class Element, class Value>
const Value* expand(std::uint64_t bits, const Value* in, const Value* end, Element* x) {
  for (std::size_t i = 0; i < kBlock; i += kGroup) {
    const auto group = static_cast<std::uint8_t>(bits >> i);
    const std::size_t n = num_set(group);
    if (static_cast<std::size_t>(end - in) >= kGroup) {
      expand_group(group, in, x + i);
    } else {
      Value values[kGroup] = {};
      for (std::size_t k = 0; k < n; ++k) values[k] = in[k];
      expand_group(group, values, x + i);
    }
    in += n;
  }
  return in;
}

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
