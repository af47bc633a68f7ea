// The symbols of one scan: first collected and counted, then written with the code that suits their counts.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "jpeg/huffman.hpp"

namespace halfbyte::jpeg {

constexpr std::uint32_t kTables = 2;                     // Huffman tables that one scan may use
constexpr std::uint32_t kRaw = kTables * 256;            // the "symbol" of bits that stand alone: its codeword is empty
using Counts = std::array<std::uint32_t, kRaw + 1>;      // how often; symbol s of table t is t * 256 + s
using Codewords = std::array<Codeword, kRaw + 1>;

// Remembers symbols, up to a bound: a scan with more of them is coded a second time instead.
class SymbolList {
 public:
  SymbolList() : tokens_(kFirst) {}

  // `bits` low bits of `value` (at most 16) follow the symbol.
  void put(std::uint32_t symbol, std::uint32_t value, std::uint32_t bits) {
    ++counts_[symbol];
    extra_bits_ += bits;
    if (size_ == tokens_.size() && !grow()) return;
    tokens_[size_++] = symbol << 21 | bits << 16 | value;
  }

  void clear() {
    counts_.fill(0);
    extra_bits_ = 0;
    size_ = 0;
    complete_ = true;
  }

  [[nodiscard]] const Counts& counts() const { return counts_; }
  [[nodiscard]] bool complete() const { return complete_; }
  [[nodiscard]] std::uint64_t size_in_bits(const Codewords& words) const;
  // Hands every symbol to another sink; only for a complete list.
  template <class Sink>
  void replay(Sink& sink) const {
    for (std::size_t i = 0; i < size_; ++i) {
      sink.put(tokens_[i] >> 21, tokens_[i] & 0xFFFF, tokens_[i] >> 16 & 31);
    }
  }

 private:
  static constexpr std::size_t kFirst = std::size_t{1} << 14, kMost = std::size_t{1} << 22;
  bool grow();

  Counts counts_{};
  std::uint64_t extra_bits_ = 0;
  std::vector<std::uint32_t> tokens_;
  std::size_t size_ = 0;
  bool complete_ = true;
};

// Writes symbols as entropy-coded data: codewords, extra bits, a zero byte after every 0xFF.
class SymbolWriter {
 public:
  // Appends to `out`; `size_in_bits` bounds what comes.
  SymbolWriter(Buffer& out, const Codewords& words, std::uint64_t size_in_bits);

  void put(std::uint32_t symbol, std::uint32_t value, std::uint32_t bits) {
    const Codeword word = words_[symbol];
    bits_ = bits_ << (word.length + bits) | static_cast<std::uint64_t>(word.bits) << bits | value;
    used_ += word.length + bits;
    if (used_ >= 32) flush_word();
  }
  void finish();  // fills the last byte with ones and trims the buffer

 private:
  void flush_word();
  void put_byte(std::uint8_t byte);

  Buffer& out_;
  const Codewords& words_;
  std::uint8_t* next_;
  std::uint64_t bits_ = 0;  // the last `used_` bits are to be written; fewer than 32 between calls
  std::uint32_t used_ = 0;
};

}  // namespace halfbyte::jpeg
