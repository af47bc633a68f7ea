#include "jpeg/symbols.hpp"

#include <algorithm>

namespace halfbyte::jpeg {

bool SymbolList::grow() {
  if (tokens_.size() >= kMost) {
    complete_ = false;
    return false;
  }
  tokens_.resize(tokens_.size() * 2);
  return true;
}

std::uint64_t SymbolList::size_in_bits(const Codewords& words) const {
  std::uint64_t bits = extra_bits_;
  for (std::size_t i = 0; i < words.size(); ++i) bits += std::uint64_t{counts_[i]} * words[i].length;
  return bits;
}

SymbolWriter::SymbolWriter(Buffer& out, const Codewords& words, std::uint64_t size_in_bits) : out_(out), words_(words) {
  const std::size_t begin = out.size();
  out.resize(begin + (size_in_bits / 8 + 1) * 2);  // every byte may be 0xFF
  next_ = out.data() + begin;
}

void SymbolWriter::put_byte(std::uint8_t byte) {
  *next_++ = byte;
  if (byte == 0xFF) *next_++ = 0;
}

void SymbolWriter::flush_word() {
  used_ -= 32;
  const auto word = static_cast<std::uint32_t>(bits_ >> used_);
  for (int shift = 24; shift >= 0; shift -= 8) put_byte(static_cast<std::uint8_t>(word >> shift));
}

void SymbolWriter::finish() {
  while (used_ >= 8) {
    used_ -= 8;
    put_byte(static_cast<std::uint8_t>(bits_ >> used_));
  }
  if (used_ > 0) put_byte(static_cast<std::uint8_t>(bits_ << (8 - used_) | 0xFFU >> used_));
  out_.resize(static_cast<std::size_t>(next_ - out_.data()));
}

}  // namespace halfbyte::jpeg
