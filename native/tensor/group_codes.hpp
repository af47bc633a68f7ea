// Integers as lanes, and their low bits as a stream of bits. For *_kernel.cpp files only, like lanes.hpp.
//
//   Words, Ints                kLanes integers, without and with a sign
//   truncated(v), floats(i)    from Lanes to Ints, and back
//   store_codes<kBits>(p, c)   32 codes below 2^kBits as 4 * kBits bytes, lowest bits first
//   load_codes<kBits>(p, i)    codes i to i + kLanes - 1 of such bytes, i a multiple of kLanes; up to kReadBeyond bytes
//                              after them are read too
#pragma once

#include "tensor/lanes.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

typedef std::uint32_t Words __attribute__((vector_size(sizeof(Lanes))));
typedef std::int32_t Ints __attribute__((vector_size(sizeof(Lanes))));

inline Ints truncated(Lanes v) { return __builtin_convertvector(v, Ints); }
inline Lanes floats(Ints v) { return __builtin_convertvector(v, Lanes); }

constexpr std::size_t kCodesAtOnce = 32;
constexpr std::size_t kReadBeyond = 4;
using Codes = Ints[kCodesAtOnce / kLanes];

// The low kBits of all eight bytes of a word side by side, first byte lowest; what lies above them is left over.
template <int kBits, class Quads>
Quads squeeze(Quads codes) {
  constexpr std::uint64_t kPairs = ((1u << 2 * kBits) - 1) * 0x0001000100010001u;
  constexpr std::uint64_t kFours = ((1u << 4 * kBits) - 1) * 0x0000000100000001u;
  codes = (codes | codes >> (8 - kBits)) & kPairs;
  codes = (codes | codes >> (16 - 2 * kBits)) & kFours;
  return codes | codes >> (32 - 4 * kBits);
}

inline std::uint32_t word_at(const std::uint8_t* p) {
  std::uint32_t word;
  std::memcpy(&word, p, sizeof word);
  return word;
}

// The shifts that bring code k to the low end of a word that begins with code k - k % 8.
template <int kBits>
Words shifts() {
  Words amounts;
  for (std::size_t k = 0; k < kLanes; ++k) amounts[k] = static_cast<std::uint32_t>(k % 8 * kBits);
  return amounts;
}

#if defined(__AVX2__)

#if defined(__AVX512F__)

inline __m256i bytes_of(const Codes& codes) {
  alignas(64) static constexpr std::uint8_t kInOrder[64] = {
      0, 2,  4,  6,  16, 18, 20, 22, 32, 34, 36, 38, 48, 50, 52, 54,  // packing works on 128 bits at a time:
      8, 10, 12, 14, 24, 26, 28, 30, 40, 42, 44, 46, 56, 58, 60, 62,  // four of one vector, four of the other
  };
  const __m512i packed = _mm512_packs_epi32((__m512i)codes[0], (__m512i)codes[1]);
  return _mm512_castsi512_si256(_mm512_permutexvar_epi8(_mm512_load_si512(kInOrder), packed));
}

inline Ints load_bytes(const std::uint8_t* p) {
  return (Ints)_mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}

template <int kBits>
Words load_words(const std::uint8_t* p) {
  const __m512i low = _mm512_set1_epi32(static_cast<int>(word_at(p)));
  return (Words)_mm512_mask_set1_epi32(low, 0xff00, static_cast<int>(word_at(p + kBits)));
}

#else

inline __m256i bytes_of(const Codes& codes) {
  const __m256i low = _mm256_packs_epi32((__m256i)codes[0], (__m256i)codes[1]);
  const __m256i high = _mm256_packs_epi32((__m256i)codes[2], (__m256i)codes[3]);
  // Packing works on 128 bits at a time: four codes of each vector, then the other four of each.
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  return _mm256_permutevar8x32_epi32(_mm256_packus_epi16(low, high), order);
}

inline Ints load_bytes(const std::uint8_t* p) {
  return (Ints)_mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
}

template <int kBits>
Words load_words(const std::uint8_t* p) {
  return (Words)_mm256_set1_epi32(static_cast<int>(word_at(p)));
}

#endif

template <int kBits>
void store_codes(std::uint8_t* p, const Codes& codes) {
  const __m256i bytes = bytes_of(codes);
  if constexpr (kBits == 8) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), bytes);
  } else {
    typedef std::uint64_t Quads __attribute__((vector_size(32)));
    const __m256i squeezed = (__m256i)squeeze<kBits>((Quads)bytes);
    // Of two words, side by side in 128 bits, the kBits bytes that count.
    constexpr auto kFrom = [](int i) { return static_cast<char>(i < kBits ? i : 8 + i - kBits); };
    const __m256i pairs = _mm256_shuffle_epi8(
        squeezed, _mm256_broadcastsi128_si256(_mm_setr_epi8(kFrom(0), kFrom(1), kFrom(2), kFrom(3), kFrom(4), kFrom(5),
                                                            kFrom(6), kFrom(7), -1, -1, -1, -1, -1, -1, -1, -1)));
    const long long low = _mm256_extract_epi64(pairs, 0);
    const long long high = _mm256_extract_epi64(pairs, 2);
    std::memcpy(p, &low, 2 * kBits);
    std::memcpy(p + 2 * kBits, &high, 2 * kBits);
  }
}

template <int kBits>
Ints load_codes(const std::uint8_t* p, std::size_t i) {
  if constexpr (kBits == 8) return load_bytes(p + i);
  return (Ints)(load_words<kBits>(p + i / 8 * kBits) >> shifts<kBits>() & ((1u << kBits) - 1));
}

#else

template <int kBits>
void store_codes(std::uint8_t* p, const Codes& codes) {
  std::uint8_t bytes[kCodesAtOnce];
  for (std::size_t i = 0; i < kCodesAtOnce; ++i) bytes[i] = static_cast<std::uint8_t>(codes[i / kLanes][i % kLanes]);
  if constexpr (kBits == 8) {
    std::memcpy(p, bytes, kCodesAtOnce);
  } else {
    for (std::size_t i = 0; i < kCodesAtOnce / 8; ++i) {
      std::uint64_t eight;
      std::memcpy(&eight, bytes + 8 * i, 8);
      eight = squeeze<kBits>(eight);
      std::memcpy(p + kBits * i, &eight, kBits);
    }
  }
}

template <int kBits>
Ints load_codes(const std::uint8_t* p, std::size_t i) {
  if constexpr (kBits == 8) return Ints{p[i], p[i + 1], p[i + 2], p[i + 3]};
  const std::uint32_t word = word_at(p + i / 8 * kBits) >> i % 8 * kBits;
  const Ints codes = {static_cast<int>(word), static_cast<int>(word >> kBits), static_cast<int>(word >> 2 * kBits),
                      static_cast<int>(word >> 3 * kBits)};
  return codes & ((1 << kBits) - 1);
}

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
