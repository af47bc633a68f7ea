#include "tensor/byte_plane.hpp"
#include "tensor/masks_blocks.hpp"
#include "tensor/zvc.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// Four tables, since a count that was just written is slow to read again.
void count_bytes(const std::uint8_t* bytes, std::size_t count, std::uint32_t* counts) {
  std::uint32_t own[4][256] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes + i, 8);
    for (int k = 0; k < 8; ++k) ++own[k % 4][word >> 8 * k & 0xff];
  }
  for (; i < count; ++i) ++own[0][bytes[i]];
  for (int byte = 0; byte < 256; ++byte) counts[byte] = own[0][byte] + own[1][byte] + own[2][byte] + own[3][byte];
}

std::size_t strip(const std::uint8_t* bytes, std::size_t count, std::uint8_t* mask, std::uint8_t* kept) {
  std::uint8_t* out = kept;
  std::size_t i = 0;
  const auto block = [&](const std::uint8_t* from) {
    const std::uint64_t bits = nonzero(from);
    std::memcpy(mask + i / 8, &bits, 8);
    out += compress64(bits, from, out);
  };
  for (; i + kBlock <= count; i += kBlock) block(bytes + i);
  std::uint8_t rest[kBlock] = {};
  std::memcpy(rest, bytes + i, count - i);
  block(rest);
  return static_cast<std::size_t>(out - kept);
}

void fill(const std::uint8_t* mask, const std::uint8_t* kept, std::size_t count, std::uint8_t* bytes) {
  for (std::size_t i = 0; i < count; i += kBlock) {
    const std::size_t n = count - i < kBlock ? count - i : kBlock;
    kept += expand64(word_of(mask + i / 8, n), kept, ~std::size_t{0}, bytes + i);
  }
}

// Two words, one after the other; at most four words are joined.
struct Words {
  std::uint64_t bits;
  unsigned length;
};
inline Words operator+(Words a, Words b) { return {a.bits << b.length | b.bits, a.length + b.length}; }

std::uint8_t* write(const std::uint8_t* bytes, std::size_t count, const CodeWord* words, std::uint8_t* out) {
  Words waiting{0, 0};  // less than 8 bits between calls of `flush`
  const auto word = [&](std::size_t i) { return Words{words[bytes[i]].bits, words[bytes[i]].length}; };
  const auto flush = [&] {
    const std::uint64_t top = __builtin_bswap64(waiting.bits << (63 - waiting.length) << 1);
    std::memcpy(out, &top, 8);
    out += waiting.length / 8;
    waiting.length %= 8;
  };
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    waiting = waiting + ((word(i) + word(i + 1)) + (word(i + 2) + word(i + 3)));
    flush();
  }
  for (; i < count; ++i) waiting = waiting + word(i);
  flush();
  return out + (waiting.length != 0);
}

// A stream of words. It may look at bytes up to the end of all streams, where zeros follow.
struct Stream {
  const std::uint8_t* next;
  const std::uint8_t* stop;  // from here on there are not 8 bytes to look at
  const std::uint8_t* end;
  std::uint64_t bits = 0;  // the next on top
  unsigned known = 0;      // how many of them are read
  std::size_t beyond = 0;  // zeros read behind the end

  void refill() {
    std::uint64_t word;
    std::memcpy(&word, next, 8);
    bits |= __builtin_bswap64(word) >> known;
    next += (63 - known) / 8;
    known |= 56;
  }
  void refill_at_end() {
    for (; known < 56; known += 8) {
      if (next < end) {
        bits |= std::uint64_t{*next++} << (56 - known);
      } else {
        beyond += 8;
      }
    }
  }
  std::uint8_t take(const CodeEntry* table) {
    const CodeEntry entry = table[bits >> (64 - kMostCodeBits)];
    bits <<= entry.length;
    known -= entry.length;
    return entry.byte;
  }
};

bool read(const std::uint8_t* in, const std::size_t* sizes, const CodeEntry* table, std::size_t count,
          std::uint8_t* bytes) {
  const Streams parts(count);
  const std::uint8_t* const end = in + sizes[0] + sizes[1] + sizes[2] + sizes[3];
  const std::uint8_t* const stop = end - in < 8 ? in : end - 7;
  Stream a{in, stop, end}, b{a.next + sizes[0], stop, end};
  Stream c{b.next + sizes[1], stop, end}, d{c.next + sizes[2], stop, end};
  const std::uint8_t* const begins[4] = {a.next, b.next, c.next, d.next};
  std::uint8_t* const out[4] = {bytes + parts.first[0], bytes + parts.first[1], bytes + parts.first[2],
                                bytes + parts.first[3]};
  const std::size_t shortest = parts.first[4] - parts.first[3];
  std::size_t i = 0;
  for (; i + 4 <= shortest && a.next < stop && b.next < stop && c.next < stop && d.next < stop; i += 4) {
    a.refill();
    b.refill();
    c.refill();
    d.refill();
    for (std::size_t k = i; k < i + 4; ++k) {
      out[0][k] = a.take(table);
      out[1][k] = b.take(table);
      out[2][k] = c.take(table);
      out[3][k] = d.take(table);
    }
  }
  Stream* const streams[4] = {&a, &b, &c, &d};
  bool fits = true;
  for (int s = 0; s < 4; ++s) {
    Stream& stream = *streams[s];
    const std::size_t own = parts.first[s + 1] - parts.first[s];
    for (std::size_t k = i; k < own; ++k) {
      stream.refill_at_end();
      out[s][k] = stream.take(table);
    }
    const std::size_t taken = static_cast<std::size_t>(stream.next - begins[s]) * 8 + stream.beyond - stream.known;
    fits &= (taken + 7) / 8 == sizes[s];
  }
  return fits;
}

}  // namespace

const BytePlaneKernels byte_plane_kernels = {
    .count_bytes = count_bytes, .strip = strip, .fill = fill, .write = write, .read = read};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
