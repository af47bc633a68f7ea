#include "jpeg/significance.hpp"

#include <algorithm>
#include <bit>

#include "base/clones.hpp"

namespace halfbyte::jpeg {
namespace {

constexpr std::uint32_t kMaxAcMagnitude = 1023;  // ten bits: T.81, table F.2

// kZigzagBits[row][byte]: the set of coefficients that `byte`, the set of columns in a row of the block, stands for.
using RowTable = std::array<std::array<std::uint64_t, 256>, 8>;
constexpr RowTable kZigzagBits = [] {
  std::array<std::uint64_t, 64> bit{};
  for (std::size_t k = 0; k < 64; ++k) bit[kNaturalOrder[k]] = std::uint64_t{1} << k;
  RowTable table{};
  for (std::size_t row = 0; row < 8; ++row) {
    for (std::size_t byte = 1; byte < 256; ++byte) {
      const std::size_t rest = byte & (byte - 1);
      table[row][byte] = table[row][rest] | bit[row * 8 + static_cast<std::size_t>(std::countr_zero(byte))];
    }
  }
  return table;
}();

using Magnitudes = std::array<std::uint16_t, 64>;
using Flags = std::array<std::uint8_t, 64>;

// The set of coefficients whose flag is 1. No branches: whether a coefficient is zero is anybody's guess.
std::uint64_t gather(const Flags& flags) {
  std::uint64_t set = 0;
  for (std::size_t row = 0; row < 8; ++row) {
    std::uint64_t columns = 0;
    for (std::size_t i = 8; i-- > 0;) columns = columns << 8 | flags[row * 8 + i];  // one load
    // The product moves the lowest bit of byte i to bit 56 + i.
    set |= kZigzagBits[row][columns * 0x0102040810204080 >> 56];
  }
  return set;
}

// Where one set a block goes, for one bit position; a null pointer: nowhere.
struct Targets {
  std::array<std::uint64_t*, kBitPositions> significant{}, with_bit{};
};

// Fills in the sets of one row of blocks and ors all magnitudes into `all`.
HALFBYTE_CLONES
void scan_row(const Block* blocks, std::size_t count, std::size_t first, const Targets& targets, Magnitudes& all) {
  Magnitudes magnitudes;
  Flags flags;
  for (std::size_t n = 0; n < count; ++n) {
    for (std::size_t i = 0; i < 64; ++i) {
      magnitudes[i] = static_cast<std::uint16_t>(blocks[n][i] < 0 ? -blocks[n][i] : blocks[n][i]);
      all[i] |= magnitudes[i];
    }
    for (std::size_t al = 0; al < kBitPositions; ++al) {
      if (targets.significant[al] != nullptr) {
        for (std::size_t i = 0; i < 64; ++i) flags[i] = (magnitudes[i] >> al) != 0;
        targets.significant[al][first + n] = gather(flags);
      }
      if (targets.with_bit[al] != nullptr) {
        for (std::size_t i = 0; i < 64; ++i) flags[i] = static_cast<std::uint8_t>(magnitudes[i] >> al & 1);
        targets.with_bit[al][first + n] = gather(flags);
      }
    }
  }
}

}  // namespace

Significance::Significance(const Plane& plane, std::uint32_t significant, std::uint32_t refined) {
  const std::size_t blocks = std::size_t{plane.rows} * plane.columns;
  Targets targets;
  for (std::size_t al = 0; al < kBitPositions; ++al) {
    if ((significant >> al & 1) != 0) {
      significant_[al].resize(blocks);
      targets.significant[al] = significant_[al].data();
    }
    if ((refined >> al & 1) != 0) {
      with_bit_[al].resize(blocks);
      targets.with_bit[al] = with_bit_[al].data();
    }
  }
  Magnitudes all{};
  for (std::size_t row = 0; row < plane.rows; ++row) {
    scan_row(plane.block_rows[row], plane.columns, row * plane.columns, targets, all);
  }
  out_of_range_ = std::any_of(all.begin() + 1, all.end(), [](std::uint16_t bits) { return bits > kMaxAcMagnitude; });
}

}  // namespace halfbyte::jpeg
