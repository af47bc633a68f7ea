#include "jpeg/ac_table.hpp"

namespace halfbyte::jpeg {
namespace {

constexpr unsigned kMostBits = 10;  // of an AC coefficient, with samples of 8 bits
constexpr std::uint8_t kZeros = 0xF0;

// T.81, figure F.12. The one bit of a refinement is 1 for +1 and 0 for -1, just the same.
int extended(std::uint32_t extra, unsigned bits) {
  const int number = static_cast<int>(extra);
  return number >> (bits - 1) != 0 ? number : number - (1 << bits) + 1;
}

}  // namespace

bool AcTable::build(const HuffmanCode& code, int al, bool refinement) {
  code_ = code;
  al_ = al;
  most_bits_ = refinement ? 1 : kMostBits;
  quick_.fill(AcSymbol(AcSymbol::damaged, 0, 0, 0));
  std::uint32_t next = 0;
  std::int32_t place = 0;
  for (unsigned length = 1; length <= 16; ++length) {
    offset_[length] = place - static_cast<std::int32_t>(next);
    next += code.counts[length];
    if (next >= 1U << length) return false;  // the code of ones only is no code (T.81, C.2)
    for (std::uint32_t word = next - code.counts[length]; word < next; ++word) {
      enter(word, length, code.symbols[static_cast<std::size_t>(place++)]);
    }
    limit_[length] = next << (16 - length);
    next <<= 1;
  }
  return true;
}

// The extra bits that belong to a coefficient; none for what is none.
unsigned AcTable::value_bits(std::uint8_t symbol) const {
  const unsigned bits = symbol & 15;
  return bits <= most_bits_ ? bits : 0;
}

AcSymbol AcTable::symbol_of(std::uint8_t symbol, unsigned length, std::uint32_t extra) const {
  const unsigned run = symbol >> 4, bits = value_bits(symbol);
  if (bits != 0) return {AcSymbol::value, run, extended(extra, bits) * (1 << al_), length + bits};
  if ((symbol & 15) != 0) return {AcSymbol::damaged, 0, 0, length};
  return {symbol == kZeros ? AcSymbol::zeros : AcSymbol::end, run, 0, length};
}

void AcTable::enter(std::uint32_t code, unsigned length, std::uint8_t symbol) {
  const unsigned bits = value_bits(symbol);
  if (length + bits > kQuickBits) return;
  for (std::uint32_t extra = 0; extra < 1U << bits; ++extra) {
    const AcSymbol entry = symbol_of(symbol, length, extra);
    const std::uint32_t first = reversed(code << bits | extra, length + bits);
    for (std::uint32_t at = first; at < kQuick; at += 1U << (length + bits)) quick_[at] = entry;
  }
}

AcSymbol AcTable::look_by_code(std::uint64_t ahead) const {
  const std::uint32_t word = reversed(static_cast<std::uint32_t>(ahead & 0xFFFF), 16);
  unsigned length = 1;
  while (length <= 16 && word >= limit_[length]) ++length;
  if (length > 16) return {};
  const auto place = static_cast<std::size_t>(static_cast<std::int32_t>(word >> (16 - length)) + offset_[length]);
  const std::uint8_t symbol = code_.symbols[place];
  const unsigned bits = value_bits(symbol);
  return symbol_of(symbol, length, reversed(static_cast<std::uint32_t>(ahead >> length & ((1U << bits) - 1)), bits));
}

}  // namespace halfbyte::jpeg
