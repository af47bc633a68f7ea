// Integer codes of which most are 0, in blocks of 64. A block has a width of 4 bits, two a byte, the first in the low
// half: 0 where all codes are 0, else 1 + the bits of its largest code. A block that is not all zeros has a mask of 8
// bytes, whose bit i % 8 of byte i / 8 says whether code i is not 0. Those that are not follow without gaps, each less
// by 1 and in the bits of its block, lowest first: all of width 2, then of width 3, and so on, each width from a whole
// byte on. Codes with signs are put in order 1, -1, 2, -2, ... first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace halfbyte::tensor {

constexpr std::size_t kCodeBlock = 64;
constexpr std::size_t kCodeWidths = 10;

constexpr std::size_t num_code_blocks(std::size_t count) { return (count + kCodeBlock - 1) / kCodeBlock; }

// Of a piece: blocks that are not all zeros, and behind them, by width from 1 on, the codes that are not 0.
using CodeCounts = std::array<std::int64_t, kCodeWidths>;

struct CodeBlockBytes {
  std::size_t masks;
  std::size_t codes;
};

// What the codes will take; fills in the widths, unless they are null, and the counts of each piece. Codes are from 0 to
// 256, or -128 to 128 with signs.
CodeBlockBytes measure_code_blocks(const std::int16_t* codes, std::size_t count, bool has_signs, std::uint8_t* widths,
                                   CodeCounts* counts, int num_threads);

// With the counts of the above; `packed` is all zeros before.
void write_code_blocks(const std::int16_t* codes, std::size_t count, bool has_signs, const CodeCounts* counts,
                       std::uint8_t* masks, std::uint8_t* packed, int num_threads);

enum class CodeBlockFault : int { none = 0, width, masks, fit, codes };

// Whether widths, masks and the bytes of codes can be of so many codes; fills in the counts of each piece.
CodeBlockFault check_code_blocks(const std::uint8_t* widths, const std::uint8_t* masks, CodeBlockBytes bytes,
                                 std::size_t count, CodeCounts* counts, int num_threads);

// The codes, with the counts of the above, which found no fault.
void read_code_blocks(const std::uint8_t* widths, const std::uint8_t* masks, const std::uint8_t* packed,
                      const CodeCounts* counts, std::size_t count, bool has_signs, std::int16_t* codes,
                      int num_threads);

}  // namespace halfbyte::tensor
