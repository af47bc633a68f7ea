#include "jpeg/huffman.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <queue>
#include <random>
#include <utility>
#include <vector>

#include "tests/check.hpp"

using namespace halfbyte::jpeg;

namespace {

using Frequencies = std::array<std::uint32_t, 256>;

std::uint64_t cost(const Frequencies& frequencies, const std::array<Codeword, 256>& words) {
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < 256; ++i) bits += std::uint64_t{frequencies[i]} * words[i].length;
  return bits;
}

// The cost of an unlimited Huffman code with one more symbol that never occurs, by the textbook.
std::uint64_t least_cost(const Frequencies& frequencies) {
  std::priority_queue<std::uint64_t, std::vector<std::uint64_t>, std::greater<>> queue;
  queue.push(0);
  for (const std::uint32_t frequency : frequencies) {
    if (frequency != 0) queue.push(frequency);
  }
  std::uint64_t bits = 0;
  while (queue.size() > 1) {
    const std::uint64_t first = queue.top();
    queue.pop();
    const std::uint64_t sum = first + queue.top();
    queue.pop();
    queue.push(sum);
    bits += sum;
  }
  return bits;
}

void codes_are_legal(const Frequencies& frequencies) {
  const HuffmanCode code = optimal_code(frequencies);
  std::array<Codeword, 256> words{};
  assign_codewords(code, words);
  std::uint64_t space = 0;  // of 2^16
  for (std::size_t i = 0; i < 256; ++i) {
    CHECK((frequencies[i] != 0) == (words[i].length != 0));
    CHECK(words[i].length <= 16);
    if (words[i].length == 0) continue;
    space += std::uint64_t{1} << (16 - words[i].length);
    CHECK(words[i].bits != (1U << words[i].length) - 1);  // not ones only
  }
  CHECK(space < std::uint64_t{1} << 16);
}

void codes_cost_least_where_sixteen_bits_suffice() {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    Frequencies frequencies{};
    for (unsigned n = 1 + random() % 256; n > 0; --n) frequencies[random() % 256] = 1 + random() % 1000;
    codes_are_legal(frequencies);
    std::array<Codeword, 256> words{};
    assign_codewords(optimal_code(frequencies), words);
    CHECK(cost(frequencies, words) == least_cost(frequencies));
  }
}

void skewed_frequencies_are_limited_to_sixteen_bits() {
  Frequencies frequencies{};
  std::uint32_t a = 1, b = 1;
  for (std::size_t i = 0; i < 44; ++i) {  // Fibonacci numbers make the deepest trees
    frequencies[i * 5] = a;
    a = std::exchange(b, a + b);
  }
  codes_are_legal(frequencies);
  CHECK(optimal_code(frequencies).counts[16] > 0);
}

void few_symbols_have_codes() {
  Frequencies frequencies{};
  CHECK(optimal_code(frequencies).num_symbols == 0);
  frequencies[7] = 1;
  codes_are_legal(frequencies);
  frequencies.fill(1);
  codes_are_legal(frequencies);
  frequencies.fill(0xFFFFFFFF);
  codes_are_legal(frequencies);
}

using Lengths = std::array<std::uint8_t, 256>;

void lengths_make_the_code() {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    Frequencies frequencies{};
    for (unsigned n = 1 + random() % 256; n > 0; --n) frequencies[random() % 256] = 1 + random() % 1000;
    std::array<Codeword, 256> words{}, canonical{};
    assign_codewords(optimal_code(frequencies), words);
    Lengths lengths{};
    for (std::size_t i = 0; i < 256; ++i) lengths[i] = words[i].length;
    assign_codewords(canonical_code(lengths).value(), canonical);
    std::uint32_t last = 0;  // as 16 bits; codes grow with length, and then with the symbol
    for (std::uint8_t length = 1; length <= 16; ++length) {
      for (std::size_t i = 0; i < 256; ++i) {
        if (lengths[i] != length) continue;
        CHECK(canonical[i].length == length);
        CHECK(std::uint32_t{canonical[i].bits} << (16 - length) == last);
        last = (canonical[i].bits + 1U) << (16 - length);
      }
    }
    CHECK(last < 1U << 16);
  }
}

void lengths_of_no_code_are_refused() {
  Lengths lengths{};
  CHECK(canonical_code(lengths).value().num_symbols == 0);
  lengths[3] = 17;
  CHECK(!canonical_code(lengths));
  lengths.fill(7);  // twice as many as there are
  CHECK(!canonical_code(lengths));
  lengths.fill(0);
  lengths[0] = lengths[1] = lengths[2] = 1;
  CHECK(!canonical_code(lengths));
  lengths[2] = 0;  // all codes taken: T.81 keeps one, but it is a code
  CHECK(canonical_code(lengths).has_value());
}

}  // namespace

int main() {
  codes_cost_least_where_sixteen_bits_suffice();
  skewed_frequencies_are_limited_to_sixteen_bits();
  few_symbols_have_codes();
  lengths_make_the_code();
  lengths_of_no_code_are_refused();
  return halfbyte::test::result();
}
