// Prefix codes for bytes whose words have at most 12 bits: a decoder needs one look at a small table for each.
#pragma once

#include <array>
#include <cstdint>
#include <span>

namespace halfbyte::tensor {

constexpr unsigned kMostCodeBits = 12;

using ByteCounts = std::array<std::uint32_t, 256>;
using CodeLengths = std::array<std::uint8_t, 256>;  // bits of each byte's word, 0 for bytes that have none

// The code that takes the fewest bits for bytes that occur so often, of which at least two occur (package-merge:
// Larmore and Hirschberg, "A fast algorithm for optimal length-limited Huffman codes", 1990).
CodeLengths best_lengths(const ByteCounts& counts, unsigned most_bits = kMostCodeBits);

// Whether there is a code of these lengths in which every sequence of bits means something.
bool is_complete(const CodeLengths& lengths);

// Spells the canonical code out: shorter words first, and among equals by byte.
struct CodeWord {
  std::uint16_t bits;
  std::uint16_t length;
};
std::array<CodeWord, 256> code_words(const CodeLengths& lengths);

// What the next kMostCodeBits bits begin with, for a complete code.
struct CodeEntry {
  std::uint8_t byte;
  std::uint8_t length;
};
using CodeTable = std::array<CodeEntry, 1 << kMostCodeBits>;
void fill_table(const CodeLengths& lengths, CodeTable& table);

}  // namespace halfbyte::tensor
