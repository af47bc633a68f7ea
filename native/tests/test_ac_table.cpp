#include "jpeg/ac_table.hpp"

#include <cmath>
#include <random>

#include "tests/check.hpp"

using namespace halfbyte::jpeg;

namespace {

// A code with words of every length up to 16.
HuffmanCode long_code(std::mt19937& random) {
  std::array<std::uint32_t, 256> frequencies{};
  for (auto& frequency : frequencies) frequency = static_cast<std::uint32_t>(std::exp(random() % 19) + 1);
  return optimal_code(frequencies);
}

struct Expected {
  AcSymbol::Kind kind;
  int coefficient = 0;
};

// As T.81 says it, G.1.2 and F.1.2.
Expected expected_of(unsigned symbol, std::uint32_t extra, int al, bool refinement) {
  const unsigned bits = symbol & 15;
  if (bits == 0) return {symbol == 0xF0 ? AcSymbol::zeros : AcSymbol::end};
  if (bits > (refinement ? 1U : 10U)) return {AcSymbol::damaged};
  const int number = static_cast<int>(extra);
  const int value = number < 1 << (bits - 1) ? number - (1 << bits) + 1 : number;
  return {AcSymbol::value, value * (1 << al)};
}

void every_symbol_is_found(int al, bool refinement) {
  std::mt19937 random(5);
  const HuffmanCode code = long_code(random);
  CHECK(code.counts[16] > 0);
  AcTable table;
  CHECK(table.build(code, al, refinement));
  std::array<Codeword, 256> words;
  assign_codewords(code, words);
  for (unsigned symbol = 0; symbol < 256; ++symbol) {
    for (int round = 0; round < 40; ++round) {
      const unsigned bits = symbol & 15;
      const std::uint32_t extra = random() & ((1U << bits) - 1);
      const Expected expected = expected_of(symbol, extra, al, refinement);
      const unsigned value_bits = expected.kind == AcSymbol::value ? bits : 0;
      const std::uint64_t noise = std::uint64_t{random()} << 40;
      const std::uint64_t ahead = noise << 4 | std::uint64_t{reversed(extra, bits)} << words[symbol].length |
                                  reversed(words[symbol].bits, words[symbol].length);
      const AcSymbol found = table.look(ahead);
      CHECK(found.kind() == expected.kind && found.length() == words[symbol].length + value_bits);
      if (expected.kind != AcSymbol::damaged) CHECK(found.run() == symbol >> 4);
      if (expected.kind == AcSymbol::value) CHECK(found.coefficient() == expected.coefficient);
    }
  }
}

void what_is_no_code_is_damage() {
  HuffmanCode code;
  code.counts[2] = 2;
  code.counts[12] = 1;
  code.num_symbols = 3;
  code.symbols = {0x01, 0x00, 0x11};
  AcTable table;
  CHECK(table.build(code, 0, false));
  CHECK(table.look(0b00).kind() == AcSymbol::value);
  CHECK(table.look(0b10).kind() == AcSymbol::end);
  CHECK(table.look(0b01).kind() == AcSymbol::value);         // 100000000000, and the bit after it
  CHECK(table.look(0b100000000001).kind() == AcSymbol::damaged);
  CHECK(table.look(0b11).kind() == AcSymbol::damaged);
}

void codes_of_ones_and_of_too_many_words_are_refused() {
  AcTable table;
  HuffmanCode ones;
  ones.counts[1] = 2;
  ones.num_symbols = 2;
  CHECK(!table.build(ones, 0, false));
  HuffmanCode many;
  many.counts[1] = 1;
  many.counts[3] = 200;
  many.num_symbols = 201;
  CHECK(!table.build(many, 0, false));
}

}  // namespace

int main() {
  for (const int al : {0, 2}) {
    every_symbol_is_found(al, false);
    every_symbol_is_found(al, true);
  }
  what_is_no_code_is_damage();
  codes_of_ones_and_of_too_many_words_are_refused();
  return halfbyte::test::result();
}
