#include "jpeg/significance.hpp"

#include <cstdlib>
#include <random>

#include "tests/check.hpp"

using namespace halfbyte::jpeg;

namespace {

void zigzag_is_that_of_the_standard() {
  CHECK(kNaturalOrder[0] == 0 && kNaturalOrder[1] == 1 && kNaturalOrder[2] == 8 && kNaturalOrder[3] == 16);
  CHECK(kNaturalOrder[8] == 17 && kNaturalOrder[35] == 56 && kNaturalOrder[62] == 62 && kNaturalOrder[63] == 63);
}

void sets_agree_with_the_definition() {
  constexpr std::size_t kBlocks = 500;
  std::mt19937 random(2);
  std::vector<std::array<std::int16_t, 64>> blocks(kBlocks, std::array<std::int16_t, 64>{});
  for (auto& block : blocks) {
    for (auto& value : block) {
      if (random() % 4 == 0) value = static_cast<std::int16_t>(static_cast<int>(random() % 2047) - 1023);
    }
  }
  Plane plane;
  plane.columns = kBlocks / 2;
  plane.rows = 2;
  for (std::size_t row = 0; row < 2; ++row) {
    plane.block_rows.push_back(reinterpret_cast<const Block*>(blocks[row * plane.columns].data()));
  }
  const Significance significance(plane, 0x7FF, 0x7FF);
  CHECK(!significance.out_of_range());
  for (std::size_t n = 0; n < kBlocks; ++n) {
    for (std::size_t k = 0; k < 64; ++k) {
      const int magnitude = std::abs(blocks[n][kNaturalOrder[k]]);
      for (int al = 0; al < kBitPositions; ++al) {
        CHECK((significance.significant(al)[n] >> k & 1) == (magnitude >> al != 0 ? 1 : 0));
        CHECK((significance.with_bit(al)[n] >> k & 1) == static_cast<unsigned>(magnitude >> al & 1));
      }
    }
  }
}

void ac_range_is_ten_bits(std::int16_t value, std::size_t index, bool out) {
  std::array<std::int16_t, 64> block{};
  block[index] = value;
  Plane plane;
  plane.columns = plane.rows = 1;
  plane.block_rows.push_back(reinterpret_cast<const Block*>(block.data()));
  CHECK(Significance(plane, 1, 0).out_of_range() == out);
}

}  // namespace

int main() {
  zigzag_is_that_of_the_standard();
  sets_agree_with_the_definition();
  ac_range_is_ten_bits(1023, 63, false);
  ac_range_is_ten_bits(-1024, 1, true);
  ac_range_is_ten_bits(-32768, 63, true);
  ac_range_is_ten_bits(2000, 0, false);
  return halfbyte::test::result();
}
