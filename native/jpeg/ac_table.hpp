// The Huffman code of a progressive AC scan, laid out for decoding: most symbols take one look, extra bits included.
#pragma once

#include <array>
#include <cstdint>

#include "jpeg/coded_bits.hpp"
#include "jpeg/huffman.hpp"

namespace halfbyte::jpeg {

// What a symbol says (T.81, G.1.2.2 and G.1.2.3), in one word.
class AcSymbol {
 public:
  enum Kind : std::uint32_t {
    value,    // `run` zeros, then a coefficient
    zeros,    // `run` zeros, then another one
    end,      // this block and others end here: 2^run, and as many as `run` more bits say
    damaged,  // no code, or no symbol of such a scan
  };

  HALFBYTE_INLINE constexpr AcSymbol() : word_(damaged << kKindAt) {}
  HALFBYTE_INLINE constexpr AcSymbol(Kind kind, unsigned run, int coefficient, unsigned length)
      : word_(static_cast<std::uint32_t>(coefficient) << kValueAt | kind << kKindAt | run << kRunAt | length) {}

  [[nodiscard]] HALFBYTE_INLINE Kind kind() const { return static_cast<Kind>(word_ >> kKindAt & 3); }
  [[nodiscard]] HALFBYTE_INLINE unsigned run() const { return word_ >> kRunAt & 15; }
  // Shifted to its bit position.
  [[nodiscard]] HALFBYTE_INLINE std::int16_t coefficient() const { return static_cast<std::int16_t>(word_ >> kValueAt); }
  // Bits of the code and of the value.
  [[nodiscard]] HALFBYTE_INLINE unsigned length() const { return word_ & 31; }

 private:
  static constexpr unsigned kRunAt = 5, kKindAt = 9, kValueAt = 16;

  std::uint32_t word_;
};

// For the first scan of a band, or for a refinement, where a value is one bit: its sign.
class AcTable {
 public:
  static constexpr unsigned kMostLooked = 26;  // bits of a code and a value

  // False when no decoder would take this code.
  bool build(const HuffmanCode& code, int al, bool refinement);

  // The next symbol, to be skipped by its length.
  [[nodiscard]] HALFBYTE_INLINE AcSymbol look(std::uint64_t ahead) const {
    const AcSymbol found = quick_[ahead & (kQuick - 1)];
    return found.length() != 0 ? found : look_by_code(ahead);
  }

 private:
  static constexpr unsigned kQuickBits = 10, kQuick = 1U << kQuickBits;

  void enter(std::uint32_t code, unsigned length, std::uint8_t symbol);
  [[nodiscard]] AcSymbol symbol_of(std::uint8_t symbol, unsigned length, std::uint32_t extra) const;
  [[nodiscard]] unsigned value_bits(std::uint8_t symbol) const;
  [[nodiscard]] AcSymbol look_by_code(std::uint64_t ahead) const;

  std::array<AcSymbol, kQuick> quick_;   // of a length of 0 where a look at the first bits does not do
  std::array<std::uint32_t, 17> limit_;  // the first code, filled up to 16 bits, that is longer than so many
  std::array<std::int32_t, 17> offset_;  // from a code of so many bits to its place among the symbols
  HuffmanCode code_;
  int al_ = 0;
  unsigned most_bits_ = 0;               // of a value
};

}  // namespace halfbyte::jpeg
