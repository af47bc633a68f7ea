// The 64 codes of a tile in registers: their orders, and their zero-value coding. For kernel files only.
#pragma once

#include <cstdint>

#include "tensor/lanes.hpp"
#include "tensor/zvc.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// from[i]: which code comes to place i.
struct Order {
  std::uint8_t from[64];
};

constexpr Order inverse_of(const Order& order) {
  Order inverse{};
  for (int i = 0; i < 64; ++i) inverse.from[order.from[i]] = static_cast<std::uint8_t>(i);
  return inverse;
}

// From row-major order along the zig-zag (T.81, figure A.6), and back.
constexpr Order kRowsToZigzag = [] {
  Order order{};
  int row = 0, column = 0;
  for (int i = 0; i < 64; ++i) {
    order.from[i] = static_cast<std::uint8_t>(8 * row + column);
    const bool upwards = (row + column) % 2 == 0;
    if (upwards ? column == 7 : row == 7) {
      upwards ? ++row : ++column;
    } else if (upwards ? row == 0 : column == 0) {
      upwards ? ++column : ++row;
    } else {
      row += upwards ? -1 : 1;
      column += upwards ? 1 : -1;
    }
  }
  return order;
}();
constexpr Order kZigzagToRows = inverse_of(kRowsToZigzag);

// From zig-zag order to row-major order of the transposed tile.
[[maybe_unused]] constexpr Order kZigzagToColumns = [] {
  Order order{};
  for (int i = 0; i < 64; ++i) order.from[i] = kZigzagToRows.from[i % 8 * 8 + i / 8];
  return order;
}();

[[maybe_unused]] constexpr Order kColumnsToZigzag = inverse_of(kZigzagToColumns);

// From the order in which saturating packs leave eight columns: runs of four lines, of four columns, then the other
// lines of these columns, then the other columns.
[[maybe_unused]] constexpr Order kPacksToZigzag = [] {
  Order order{};
  for (int i = 0; i < 64; ++i) {
    const int row = kRowsToZigzag.from[i] / 8, column = kRowsToZigzag.from[i] % 8;
    order.from[i] = static_cast<std::uint8_t>(column / 4 * 32 + row / 4 * 16 + column % 4 * 4 + row % 4);
  }
  return order;
}();

#if defined(__AVX512F__)

using Codes = __m512i;

inline Codes load_codes(const std::uint8_t* p) { return _mm512_loadu_si512(p); }
inline void store_codes(std::uint8_t* p, Codes codes) { _mm512_storeu_si512(p, codes); }
inline std::uint64_t nonzero(Codes codes) { return _mm512_test_epi8_mask(codes, codes); }

template <const Order& order>
Codes reordered(Codes codes) {
  alignas(64) static constexpr Order kOrder = order;
  return _mm512_permutexvar_epi8(_mm512_load_si512(kOrder.from), codes);
}

inline std::size_t compress(std::uint64_t mask, Codes codes, std::uint8_t* out) { return compress64(mask, codes, out); }

inline Codes expand(std::uint64_t mask, const std::uint8_t* packed, std::size_t /*readable*/) {
  const auto count = static_cast<unsigned>(__builtin_popcountll(mask));
  return _mm512_maskz_expand_epi8(mask, _mm512_maskz_loadu_epi8(_bzhi_u64(~std::uint64_t{0}, count), packed));
}

#else

#if defined(__AVX2__)

struct Codes {
  __m256i low, high;
};

inline Codes load_codes(const std::uint8_t* p) {
  return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
          _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32))};
}
inline void store_codes(std::uint8_t* p, Codes codes) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), codes.low);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 32), codes.high);
}
inline std::uint64_t nonzero(Codes codes) {
  const auto zeros = [](__m256i half) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, _mm256_setzero_si256())));
  };
  return ~(zeros(codes.low) | std::uint64_t{zeros(codes.high)} << 32);
}

// Bytes are shuffled within 16 only: the codes of every quarter go to where they belong in either half of the result,
// with zeros elsewhere, and the four are laid over one another.
struct QuarterOrder {
  alignas(32) std::uint8_t from[2][4][32];

  constexpr explicit QuarterOrder(const Order& order) : from{} {
    for (int i = 0; i < 64; ++i) {
      for (int quarter = 0; quarter < 4; ++quarter) {
        const bool here = order.from[i] / 16 == quarter;
        from[i / 32][quarter][i % 32] = static_cast<std::uint8_t>(here ? order.from[i] % 16 : 0x80);
      }
    }
  }
};

template <const Order& order>
Codes reordered(Codes codes) {
  static constexpr QuarterOrder kOrder(order);
  const __m256i quarters[4] = {
      _mm256_permute2x128_si256(codes.low, codes.low, 0x00), _mm256_permute2x128_si256(codes.low, codes.low, 0x11),
      _mm256_permute2x128_si256(codes.high, codes.high, 0x00), _mm256_permute2x128_si256(codes.high, codes.high, 0x11)};
  const auto half = [&](int which) {
    __m256i result = _mm256_setzero_si256();
    for (int i = 0; i < 4; ++i) {
      const __m256i from = _mm256_load_si256(reinterpret_cast<const __m256i*>(kOrder.from[which][i]));
      result = _mm256_or_si256(result, _mm256_shuffle_epi8(quarters[i], from));
    }
    return result;
  };
  return {half(0), half(1)};
}

#else

struct Codes {
  std::uint8_t code[64];
};

inline Codes load_codes(const std::uint8_t* p) {
  Codes codes;
  std::memcpy(codes.code, p, 64);
  return codes;
}
inline void store_codes(std::uint8_t* p, const Codes& codes) { std::memcpy(p, codes.code, 64); }

inline std::uint64_t nonzero(const Codes& codes) {
  std::uint64_t mask = 0;
  for (int i = 0; i < 64; i += 8) {
    const std::uint64_t low_bits = 0x7f7f7f7f7f7f7f7fu;
    std::uint64_t eight;
    std::memcpy(&eight, codes.code + i, 8);
    const std::uint64_t top_bits = (((eight & low_bits) + low_bits) | eight) & ~low_bits;  // of bytes that are not 0
    mask |= ((top_bits >> 7) * 0x0102040810204080u >> 56) << i;
  }
  return mask;
}

template <const Order& order>
Codes reordered(const Codes& codes) {
  Codes result;
  for (int i = 0; i < 64; ++i) result.code[i] = codes.code[order.from[i]];
  return result;
}

#endif

inline std::size_t compress(std::uint64_t mask, const Codes& codes, std::uint8_t* out) {
  std::uint8_t all[64];
  store_codes(all, codes);
  return compress64(mask, all, out);
}

inline Codes expand(std::uint64_t mask, const std::uint8_t* packed, std::size_t readable) {
  std::uint8_t all[64];
  expand64(mask, packed, readable, all);
  return load_codes(all);
}

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
