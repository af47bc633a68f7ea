// Optimal Huffman codes under JPEG's rules: at most 16 bits, and no code of ones only (T.81, K.2).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace halfbyte::jpeg {

struct HuffmanCode {
  std::array<std::uint8_t, 17> counts{};     // codes of each length; [0] is unused
  std::array<std::uint8_t, 256> symbols{};   // by increasing code
  int num_symbols = 0;
};

// The code for symbols that occur so often; symbols that do not occur get none.
HuffmanCode optimal_code(std::span<const std::uint32_t, 256> frequencies);

// The canonical code of these lengths (0: the symbol has none): shorter ones first, and among equals by symbol. Nothing
// when there is no such code.
std::optional<HuffmanCode> canonical_code(std::span<const std::uint8_t, 256> lengths);

struct Codeword {
  std::uint16_t bits = 0;
  std::uint8_t length = 0;
};

// Spells the code out (T.81, Annex C), indexed by symbol.
void assign_codewords(const HuffmanCode& code, std::span<Codeword, 256> words);

}  // namespace halfbyte::jpeg
