// 64 elements and the 64 bits that say something of them, element 0 in the lowest. For *_kernel.cpp files only, as
// lanes.hpp is. Elements are unsigned integers of 1, 2 or 4 bytes where their meaning does not matter.
//
//   positive(x)               x[i] > 0; NaN is not
//   not_a_number(x)           x[i] is NaN
//   nonzero(x)                any bit of x[i] is set
//   equal(x, pattern)         x[i] == pattern
//   spread(bits, pattern, x)  x[i] = bit i ? pattern : 0
//   keep(bits, x)             x[i] = bit i ? x[i] : 0
//   word_of(bytes, n)         the first n <= 64 bits of a mask, zeros above
//   pack(x, count, bytes, bits_of_block)   a whole mask; `pack_nonzero` is that of `nonzero`
#pragma once

#include "tensor/lanes.hpp"
#include "tensor/masks.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

constexpr std::size_t kBlock = 64;

// The bits of the greatest number: as integers, the floats > 0 are 1 to this.
constexpr std::uint16_t infinity_of(BFloat16) { return 0x7f80; }
constexpr std::uint16_t infinity_of(Float16) { return 0x7c00; }

#if defined(__AVX512F__)

inline __m512i load_512(const void* x) { return _mm512_loadu_si512(x); }

inline std::uint64_t nonzero(const std::uint8_t* x) { return _mm512_test_epi8_mask(load_512(x), load_512(x)); }

// Joins what `mask_of` says of the vectors that hold the block.
template <class T, class MaskOf>
std::uint64_t join(const T* x, const MaskOf& mask_of) {
  constexpr std::size_t kWidth = 64 / sizeof(T);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kBlock; i += kWidth) bits |= static_cast<std::uint64_t>(mask_of(load_512(x + i))) << i;
  return bits;
}

inline std::uint64_t nonzero(const std::uint16_t* x) {
  return join(x, [](__m512i v) { return _mm512_test_epi16_mask(v, v); });
}
inline std::uint64_t nonzero(const std::uint32_t* x) {
  return join(x, [](__m512i v) { return _mm512_test_epi32_mask(v, v); });
}
inline std::uint64_t equal(const std::uint16_t* x, std::uint16_t pattern) {
  const __m512i wanted = _mm512_set1_epi16(static_cast<short>(pattern));
  return join(x, [=](__m512i v) { return _mm512_cmpeq_epi16_mask(v, wanted); });
}
inline std::uint64_t equal(const std::uint32_t* x, std::uint32_t pattern) {
  const __m512i wanted = _mm512_set1_epi32(static_cast<int>(pattern));
  return join(x, [=](__m512i v) { return _mm512_cmpeq_epi32_mask(v, wanted); });
}

inline std::uint64_t positive(const float* x) {
  return join(x, [](__m512i v) { return _mm512_cmp_ps_mask(_mm512_castsi512_ps(v), _mm512_setzero_ps(), _CMP_GT_OQ); });
}
inline std::uint64_t not_a_number(const float* x) {
  return join(x, [](__m512i v) {
    return _mm512_cmp_ps_mask(_mm512_castsi512_ps(v), _mm512_castsi512_ps(v), _CMP_UNORD_Q);
  });
}
template <class T>
std::uint64_t positive(const T* x) {
  const __m512i infinity = _mm512_set1_epi16(infinity_of(T{}));
  return join(x, [=](__m512i v) {  // 0 wraps around to the greatest integer
    return _mm512_cmplt_epu16_mask(_mm512_sub_epi16(v, _mm512_set1_epi16(1)), infinity);
  });
}
template <class T>
std::uint64_t not_a_number(const T* x) {
  const __m512i infinity = _mm512_set1_epi16(infinity_of(T{}));
  return join(x, [=](__m512i v) {
    return _mm512_cmpgt_epi16_mask(_mm512_and_si512(v, _mm512_set1_epi16(0x7fff)), infinity);
  });
}

inline void spread(std::uint64_t bits, std::uint8_t pattern, std::uint8_t* x) {
  _mm512_storeu_si512(x, _mm512_maskz_set1_epi8(bits, static_cast<char>(pattern)));
}
inline void spread(std::uint64_t bits, std::uint16_t pattern, std::uint16_t* x) {
  for (std::size_t i = 0; i < kBlock; i += 32) {
    const auto mask = static_cast<__mmask32>(bits >> i);
    _mm512_storeu_si512(x + i, _mm512_maskz_set1_epi16(mask, static_cast<short>(pattern)));
  }
}
inline void spread(std::uint64_t bits, std::uint32_t pattern, std::uint32_t* x) {
  for (std::size_t i = 0; i < kBlock; i += 16) {
    const auto mask = static_cast<__mmask16>(bits >> i);
    _mm512_storeu_si512(x + i, _mm512_maskz_set1_epi32(mask, static_cast<int>(pattern)));
  }
}

inline void keep(std::uint64_t bits, std::uint16_t* x) {
  for (std::size_t i = 0; i < kBlock; i += 32) {
    _mm512_storeu_si512(x + i, _mm512_maskz_loadu_epi16(static_cast<__mmask32>(bits >> i), x + i));
  }
}
inline void keep(std::uint64_t bits, std::uint32_t* x) {
  for (std::size_t i = 0; i < kBlock; i += 16) {
    _mm512_storeu_si512(x + i, _mm512_maskz_loadu_epi32(static_cast<__mmask16>(bits >> i), x + i));
  }
}

#elif defined(__AVX2__)

inline __m256i load_256(const void* x) { return _mm256_loadu_si256(static_cast<const __m256i*>(x)); }
inline void store_256(void* x, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(x), v); }

// The bits of 32 lanes that are all ones or all zeros: in one vector of bytes, two of 16 bits or four of 32.
inline std::uint32_t lane_bits(__m256i a) { return static_cast<std::uint32_t>(_mm256_movemask_epi8(a)); }
inline std::uint32_t lane_bits(__m256i a, __m256i b) {
  return lane_bits(_mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0b11'01'10'00));
}
inline std::uint32_t lane_bits(__m256i a, __m256i b, __m256i c, __m256i d) {
  // The two packs leave groups of four lanes in the order a0 b0 c0 d0 a1 b1 c1 d1.
  const __m256i packed = _mm256_packs_epi16(_mm256_packs_epi32(a, b), _mm256_packs_epi32(c, d));
  return lane_bits(_mm256_permutevar8x32_epi32(packed, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7)));
}

// Joins the lanes that `mask_of` sets in the vectors that hold the block.
template <class T, class MaskOf>
std::uint64_t join(const T* x, const MaskOf& mask_of) {
  const auto at = [&](std::size_t i) { return mask_of(load_256(x + i)); };
  const auto half = [&](std::size_t i) {
    if constexpr (sizeof(T) == 1) {
      return lane_bits(at(i));
    } else if constexpr (sizeof(T) == 2) {
      return lane_bits(at(i), at(i + 16));
    } else {
      return lane_bits(at(i), at(i + 8), at(i + 16), at(i + 24));
    }
  };
  return half(0) | static_cast<std::uint64_t>(half(32)) << 32;
}

inline __m256i set_all(std::uint8_t pattern) { return _mm256_set1_epi8(static_cast<char>(pattern)); }
inline __m256i set_all(std::uint16_t pattern) { return _mm256_set1_epi16(static_cast<short>(pattern)); }
inline __m256i set_all(std::uint32_t pattern) { return _mm256_set1_epi32(static_cast<int>(pattern)); }
inline __m256i same(__m256i a, __m256i b, std::uint8_t) { return _mm256_cmpeq_epi8(a, b); }
inline __m256i same(__m256i a, __m256i b, std::uint16_t) { return _mm256_cmpeq_epi16(a, b); }
inline __m256i same(__m256i a, __m256i b, std::uint32_t) { return _mm256_cmpeq_epi32(a, b); }

template <class T>
std::uint64_t equal(const T* x, T pattern) {
  const __m256i wanted = set_all(pattern);
  return join(x, [=](__m256i v) { return same(v, wanted, T{}); });
}
template <class T>
std::uint64_t nonzero(const T* x) {
  return ~equal(x, T{0});
}

inline std::uint64_t positive(const float* x) {
  return join(x, [](__m256i v) {
    return _mm256_castps_si256(_mm256_cmp_ps(_mm256_castsi256_ps(v), _mm256_setzero_ps(), _CMP_GT_OQ));
  });
}
inline std::uint64_t not_a_number(const float* x) {
  return join(x, [](__m256i v) {
    return _mm256_castps_si256(_mm256_cmp_ps(_mm256_castsi256_ps(v), _mm256_castsi256_ps(v), _CMP_UNORD_Q));
  });
}
template <class T>
std::uint64_t positive(const T* x) {
  const __m256i infinity = _mm256_set1_epi16(infinity_of(T{}));
  return join(x, [=](__m256i v) {
    return _mm256_andnot_si256(_mm256_cmpgt_epi16(v, infinity), _mm256_cmpgt_epi16(v, _mm256_setzero_si256()));
  });
}
template <class T>
std::uint64_t not_a_number(const T* x) {
  const __m256i infinity = _mm256_set1_epi16(infinity_of(T{}));
  return join(x, [=](__m256i v) {
    return _mm256_cmpgt_epi16(_mm256_and_si256(v, _mm256_set1_epi16(0x7fff)), infinity);
  });
}

// Lanes that are all ones where a bit is set: the lowest 32, 16 or 8 bits.
inline __m256i lanes_of(std::uint64_t bits, std::uint8_t) {
  const __m256i bytes = _mm256_shuffle_epi8(
      set_all(static_cast<std::uint32_t>(bits)),
      _mm256_setr_epi8(0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3));
  const __m256i place = _mm256_set1_epi64x(static_cast<long long>(0x8040201008040201u));
  return _mm256_cmpeq_epi8(_mm256_and_si256(bytes, place), place);
}
inline __m256i lanes_of(std::uint64_t bits, std::uint16_t) {
  const __m256i place = _mm256_setr_epi16(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, -32768);
  return _mm256_cmpeq_epi16(_mm256_and_si256(set_all(static_cast<std::uint16_t>(bits)), place), place);
}
inline __m256i lanes_of(std::uint64_t bits, std::uint32_t) {
  const __m256i place = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  return _mm256_cmpeq_epi32(_mm256_and_si256(set_all(static_cast<std::uint32_t>(bits)), place), place);
}

template <class T>
void spread(std::uint64_t bits, T pattern, T* x) {
  for (std::size_t i = 0; i < kBlock; i += 32 / sizeof(T)) {
    store_256(x + i, _mm256_and_si256(lanes_of(bits >> i, T{}), set_all(pattern)));
  }
}
template <class T>
void keep(std::uint64_t bits, T* x) {
  for (std::size_t i = 0; i < kBlock; i += 32 / sizeof(T)) {
    store_256(x + i, _mm256_and_si256(lanes_of(bits >> i, T{}), load_256(x + i)));
  }
}

#else

template <class T, class Holds>
std::uint64_t join(const T* x, const Holds& holds) {
  std::uint8_t lanes[kBlock];  // 0 or 1, in a loop that compilers vectorize
  for (std::size_t i = 0; i < kBlock; ++i) lanes[i] = holds(x[i]) ? 1 : 0;
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < kBlock; i += 8) {
    std::uint64_t eight;
    std::memcpy(&eight, lanes + i, sizeof eight);
    bits |= (eight * 0x0102040810204080u >> 56) << i;  // the product's top byte gathers the lowest bits of all bytes
  }
  return bits;
}

template <class T>
std::uint64_t nonzero(const T* x) {
  return join(x, [](T element) { return element != 0; });
}
template <class T>
std::uint64_t equal(const T* x, T pattern) {
  return join(x, [=](T element) { return element == pattern; });
}
inline std::uint64_t positive(const float* x) {
  return join(x, [](float element) { return element > 0; });
}
template <class T>
std::uint64_t positive(const T* x) {
  return join(x, [](T element) { return static_cast<std::uint16_t>(element.bits - 1) < infinity_of(T{}); });
}
inline std::uint64_t not_a_number(const float* x) {
  return join(x, [](float element) { return element != element; });
}
template <class T>
std::uint64_t not_a_number(const T* x) {
  return join(x, [](T element) { return (element.bits & 0x7fff) > infinity_of(T{}); });
}

// work(i, ones) for every element: all ones where its bit is set, else 0; without branches, which would be guessed.
template <class T, class Work>
void for_lanes(std::uint64_t bits, const Work& work) {
  for (std::size_t byte = 0; byte < kBlock; byte += 8) {
    const auto eight = static_cast<T>(bits >> byte & 0xff);
    for (std::size_t i = 0; i < 8; ++i) {
      const auto place = static_cast<T>(1u << i);
      work(byte + i, static_cast<T>(-static_cast<T>((eight & place) == place)));
    }
  }
}

template <class T>
void spread(std::uint64_t bits, T pattern, T* x) {
  for_lanes<T>(bits, [=](std::size_t i, T ones) { x[i] = pattern & ones; });
}
template <class T>
void keep(std::uint64_t bits, T* x) {
  for_lanes<T>(bits, [=](std::size_t i, T ones) { x[i] &= ones; });
}

#endif

inline std::uint64_t word_of(const std::uint8_t* bytes, std::size_t n) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, bytes, mask_bytes(n));
  return bits;
}

template <class T, class BitsOfBlock>
void pack(const T* x, std::size_t count, std::uint8_t* bytes, const BitsOfBlock& bits_of_block) {
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    const std::uint64_t bits = bits_of_block(x + i);
    std::memcpy(bytes + i / 8, &bits, sizeof bits);
  }
  if (i == count) return;
  T rest[kBlock] = {};
  std::memcpy(rest, x + i, (count - i) * sizeof(T));
  const std::uint64_t bits = bits_of_block(rest);
  std::memcpy(bytes + i / 8, &bits, mask_bytes(count - i));
}

template <class T>
void pack_nonzero(const T* x, std::size_t count, std::uint8_t* bytes) {
  pack(x, count, bytes, [](const T* block) { return nonzero(block); });
}

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
