// Where the coefficients of a plane are not zero, as bit sets: what a progressive coder asks over and over.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "jpeg/coefficients.hpp"

namespace halfbyte::jpeg {

// kNaturalOrder[k] is the index in a block of the k-th coefficient of the zigzag sequence (T.81, figure 5).
constexpr std::array<std::uint8_t, 64> kNaturalOrder = [] {
  std::array<std::uint8_t, 64> order{};
  int row = 0, column = 0;
  for (std::size_t k = 0; k < 64; ++k) {
    order[k] = static_cast<std::uint8_t>(row * 8 + column);
    const bool up = (row + column) % 2 == 0;
    if (up ? column == 7 : row == 7) {
      up ? ++row : ++column;
    } else if (up ? row == 0 : column == 0) {
      up ? ++column : ++row;
    } else {
      row += up ? -1 : 1;
      column += up ? 1 : -1;
    }
  }
  return order;
}();

constexpr int kBitPositions = 11;  // a script's Al lies in 0..10

// Sets of coefficients, one a block, row by row: bit k is the k-th coefficient of the zigzag sequence.
using BlockSets = std::vector<std::uint64_t>;

class Significance {
 public:
  // `significant` and `refined` are sets of bit positions (bit al: Al = al) for which to answer.
  Significance(const Plane& plane, std::uint32_t significant, std::uint32_t refined);

  // The coefficients whose magnitude, shifted right by al, is not 0.
  [[nodiscard]] const BlockSets& significant(int al) const { return significant_[static_cast<std::size_t>(al)]; }
  // The coefficients whose magnitude has bit al.
  [[nodiscard]] const BlockSets& with_bit(int al) const { return with_bit_[static_cast<std::size_t>(al)]; }
  // Whether an AC coefficient has more than ten bits: T.81 has no symbol for it with 8-bit samples.
  [[nodiscard]] bool out_of_range() const { return out_of_range_; }

 private:
  std::array<BlockSets, kBitPositions> significant_, with_bit_;
  bool out_of_range_ = false;
};

}  // namespace halfbyte::jpeg
