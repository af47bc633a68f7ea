// Entropy-coded data as a string of bits (T.81, F.2.2.5), its stuffed zero bytes taken out, and the bits of each byte
// reversed: what comes first is lowest in a machine word, so that bits can be dealt out to the members of a set at once.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/bytes.hpp"
#include "base/clones.hpp"

namespace halfbyte::jpeg {

// Zero bytes that must follow the data: what a damaged block reads beyond the end stays within the buffer. A block takes
// at most 63 symbols of 16 bits, each with ten extra bits, and 63 corrections.
constexpr std::size_t kBitPadding = 256;

// The lowest `count` <= 16 bits, first to last.
HALFBYTE_INLINE constexpr std::uint32_t reversed(std::uint32_t bits, unsigned count) {
  bits = (bits & 0x5555) << 1 | (bits >> 1 & 0x5555);
  bits = (bits & 0x3333) << 2 | (bits >> 2 & 0x3333);
  bits = (bits & 0x0F0F) << 4 | (bits >> 4 & 0x0F0F);
  bits = (bits & 0x00FF) << 8 | (bits >> 8 & 0x00FF);
  return bits >> (16 - count);
}

// Reads beyond the end give zeros; who reads asks `overrun` once a block. All of it is part of the kernel that calls it: a
// function of its own would be compiled for one instruction set, and called from all.
class CodedBits {
 public:
  // `data` includes the padding.
  HALFBYTE_INLINE explicit CodedBits(Bytes data)
      : begin_(data.data()), next_(data.data()), end_(data.data() + data.size() - kBitPadding) {}

  // At least 56 bits can be looked at and taken after this.
  HALFBYTE_INLINE void refill() {
    std::uint64_t word;
    std::memcpy(&word, next_, sizeof word);
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    held_ |= word << count_;
    next_ += (63 - count_) >> 3;
    count_ |= 56;
  }

  // What comes next, the first bit lowest.
  [[nodiscard]] HALFBYTE_INLINE std::uint64_t ahead() const { return held_; }
  // How many bits of that are sure to be there.
  [[nodiscard]] HALFBYTE_INLINE unsigned count() const { return count_; }

  HALFBYTE_INLINE void skip(unsigned bits) {
    held_ >>= bits;
    count_ -= bits;
  }

  // The next `bits`, 0..56, the first lowest.
  HALFBYTE_INLINE std::uint64_t take(unsigned bits) {
    const std::uint64_t value = held_ & ((std::uint64_t{1} << bits) - 1);
    skip(bits);
    return value;
  }

  // The number that the next `bits`, 0..16, spell.
  HALFBYTE_INLINE std::uint32_t take_number(unsigned bits) { return reversed(static_cast<std::uint32_t>(take(bits)), bits); }

  // Whether more was taken than there is.
  [[nodiscard]] HALFBYTE_INLINE bool overrun() const {
    return next_ > end_ && taken() > static_cast<std::ptrdiff_t>(end_ - begin_) * 8;
  }
  // Whether all bytes were taken, the last one maybe in part.
  [[nodiscard]] HALFBYTE_INLINE bool at_end() const { return (taken() + 7) / 8 == end_ - begin_; }

 private:
  [[nodiscard]] HALFBYTE_INLINE std::ptrdiff_t taken() const { return (next_ - begin_) * 8 - static_cast<std::ptrdiff_t>(count_); }

  const std::uint8_t *begin_, *next_, *end_;
  std::uint64_t held_ = 0;
  unsigned count_ = 0;  // bits of `held_` that are accounted for; more may be there, and are read again
};

}  // namespace halfbyte::jpeg
