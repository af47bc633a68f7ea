// Bits in bytes, from the top of each.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace halfbyte::tensor {

// Between a number and its bytes, the highest first.
template <class Word>
Word from_big_endian(Word word) {
  if constexpr (std::endian::native == std::endian::big) return word;
  return sizeof(Word) == 8 ? static_cast<Word>(__builtin_bswap64(word)) : static_cast<Word>(__builtin_bswap32(word));
}

// The memory must hold all bits that will be put.
class BitWriter {
 public:
  explicit BitWriter(std::uint8_t* out) : out_(out) {}

  // The lowest `count` <= 32 bits of `bits`, which has no others.
  void put(std::uint32_t bits, unsigned count) {
    waiting_ = waiting_ << count | bits;
    count_ += count;
    if (count_ < 32) return;
    count_ -= 32;
    const std::uint32_t word = from_big_endian(static_cast<std::uint32_t>(waiting_ >> count_));
    std::memcpy(out_, &word, sizeof word);
    out_ += sizeof word;
  }

  // Fills the last byte with ones.
  void finish() {
    const unsigned missing = -count_ % 8;
    put((1U << missing) - 1, missing);
    for (; count_ > 0; count_ -= 8) *out_++ = static_cast<std::uint8_t>(waiting_ >> (count_ - 8));
  }

 private:
  std::uint8_t* out_;
  std::uint64_t waiting_ = 0;
  unsigned count_ = 0;  // below 32 between calls
};

// Behind the end there are zeros without end; is_over() says whether any were taken.
class BitReader {
 public:
  BitReader(const std::uint8_t* begin, std::size_t size)
      : next_(begin), end_(begin + size), left_(static_cast<std::int64_t>(size) * 8) {}

  // After this, 56 bits can be taken.
  void refill() {
    if (end_ - next_ >= 8) {
      std::uint64_t word;
      std::memcpy(&word, next_, sizeof word);
      buffer_ |= from_big_endian(word) >> count_;
      next_ += (63 - count_) / 8;
      count_ |= 56;
      return;
    }
    for (; count_ < 56; count_ += 8) {
      if (next_ < end_) buffer_ |= std::uint64_t{*next_++} << (56 - count_);
    }
  }

  // The next 64 bits, of which as many are right as can be taken.
  [[nodiscard]] std::uint64_t peek() const { return buffer_; }
  void take(unsigned count) {
    buffer_ <<= count;
    count_ -= count;
    left_ -= count;
  }

  [[nodiscard]] bool is_over() const { return left_ < 0; }
  [[nodiscard]] bool is_in_last_byte() const { return left_ >= 0 && left_ < 8; }

 private:
  const std::uint8_t* next_;
  const std::uint8_t* end_;
  std::uint64_t buffer_ = 0;  // the next bit on top
  unsigned count_ = 0;        // bits in it that are right
  std::int64_t left_;
};

}  // namespace halfbyte::tensor
