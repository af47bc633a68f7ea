// Zero-value coding of 64 one-byte codes: a mask says which are kept, and these follow one another. For kernel files:
// all is local to the file, since every instruction set compiles its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// Bytes behind the last kept code that compress64 may write to.
[[maybe_unused]] constexpr std::size_t kCompressSlack = 64;

#if defined(__AVX512VBMI2__)

// Writes the codes whose bit in the mask is set, in order; returns how many. Up to 64 bytes of `out` change.
inline std::size_t compress64(std::uint64_t mask, __m512i codes, std::uint8_t* out) {
  _mm512_storeu_si512(out, _mm512_maskz_compress_epi8(mask, codes));
  return static_cast<std::size_t>(__builtin_popcountll(mask));
}

inline std::size_t compress64(std::uint64_t mask, const std::uint8_t* codes, std::uint8_t* out) {
  return compress64(mask, _mm512_loadu_si512(codes), out);
}

// The reverse, with 0 for the others. Reads popcount(mask) bytes and not one more; returns how many. `available`: bytes
// that may be read, at least as many.
inline std::size_t expand64(std::uint64_t mask, const std::uint8_t* packed, std::size_t /*available*/,
                            std::uint8_t* codes) {
  const auto count = static_cast<unsigned>(__builtin_popcountll(mask));
  const __m512i kept = _mm512_maskz_loadu_epi8(_bzhi_u64(~std::uint64_t{0}, count), packed);
  _mm512_storeu_si512(codes, _mm512_maskz_expand_epi8(mask, kept));
  return count;
}

#elif defined(__AVX2__)

// Eight ones for every set bit among eight.
inline std::uint64_t whole_bytes(std::uint64_t mask) { return _pdep_u64(mask, 0x0101010101010101u) * 0xff; }

inline std::size_t compress64(std::uint64_t mask, const std::uint8_t* codes, std::uint8_t* out) {
  std::uint8_t* const begin = out;
  for (std::size_t i = 0; i < 64; i += 8, mask >>= 8) {
    std::uint64_t eight;
    std::memcpy(&eight, codes + i, 8);
    eight = _pext_u64(eight, whole_bytes(mask & 0xff));
    std::memcpy(out, &eight, 8);
    out += __builtin_popcountll(mask & 0xff);
  }
  return static_cast<std::size_t>(out - begin);
}

inline std::size_t expand64(std::uint64_t mask, const std::uint8_t* packed, std::size_t available,
                            std::uint8_t* codes) {
  std::uint8_t last[64 + 8];
  const auto count = static_cast<std::size_t>(__builtin_popcountll(mask));
  if (available < 64 + 8) {
    if (count > 0) std::memcpy(last, packed, count);
    packed = last;
  }
  for (std::size_t i = 0; i < 64; i += 8, mask >>= 8) {
    std::uint64_t eight;
    std::memcpy(&eight, packed, 8);
    eight = _pdep_u64(eight, whole_bytes(mask & 0xff));
    std::memcpy(codes + i, &eight, 8);
    packed += __builtin_popcountll(mask & 0xff);
  }
  return count;
}

#else

inline std::size_t compress64(std::uint64_t mask, const std::uint8_t* codes, std::uint8_t* out) {
  std::size_t count = 0;
  for (; mask != 0; mask &= mask - 1) out[count++] = codes[__builtin_ctzll(mask)];
  return count;
}

inline std::size_t expand64(std::uint64_t mask, const std::uint8_t* packed, std::size_t /*available*/,
                            std::uint8_t* codes) {
  std::size_t count = 0;
  std::memset(codes, 0, 64);
  for (; mask != 0; mask &= mask - 1) codes[__builtin_ctzll(mask)] = packed[count++];
  return count;
}

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
