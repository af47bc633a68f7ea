// Bytes without loss, in one of four forms, whichever is short:
//
//   raw       0, the bytes
//   constant  1, the byte that they all are
//   huffman   2, a code of their own, and four streams of code words that can be read side by side
//   zeros     3, the mask of those that are not 0 (a bit each, lowest first) as a plane of bytes, and these as another
//
// Where at least three of eight bytes are 0 they are taken out. So a long run of zeros costs next to nothing (its mask
// is zeros too), a code word is never longer than its information by much, and fewer of them are to be read.
//
// A code: its greatest byte, and for all up to it the bits of their words, two in a byte, the first in the low half.
// Streams: the size of each in bytes (16 bits), and their words, which fill bytes from the top. Each is of a fourth of
// the bytes, rounded up, and the last of what is left.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/code_lengths.hpp"
#include "base/isa.hpp"

namespace halfbyte::tensor {

constexpr std::size_t kMostPlane = std::size_t{1} << 16;  // bytes

// Bytes that encode_plane may write for so many, which is more than it says it wrote.
constexpr std::size_t plane_room(std::size_t count) { return 2 * count + 512; }

// Returns the end of what it wrote.
std::uint8_t* encode_plane(std::span<const std::uint8_t> bytes, std::uint8_t* out);

// What is left to be read.
using ByteView = std::span<const std::uint8_t>;

// Takes a plane from the front; up to 64 bytes after the last are written too. False, and the bytes undefined, when
// there is none of so many bytes.
[[nodiscard]] bool decode_plane(ByteView& in, std::uint8_t* bytes, std::size_t count);

// How bytes are divided among streams: the first of each, and the end.
struct Streams {
  std::size_t first[5];

  explicit constexpr Streams(std::size_t count) : first{} {
    const std::size_t share = (count + 3) / 4;
    for (std::size_t i = 0; i <= 4; ++i) first[i] = i * share < count ? i * share : count;
  }
};

struct BytePlaneKernels {
  void (*count_bytes)(const std::uint8_t* bytes, std::size_t count, std::uint32_t* counts);
  // The bytes that are not 0, and the mask of them; returns how many. Both with room for 64 more.
  std::size_t (*strip)(const std::uint8_t* bytes, std::size_t count, std::uint8_t* mask, std::uint8_t* kept);
  // The reverse; the mask has exactly as many ones as there are bytes kept. All with room for 64 more.
  void (*fill)(const std::uint8_t* mask, const std::uint8_t* kept, std::size_t count, std::uint8_t* bytes);
  // One stream; returns its end. Up to 8 bytes after it are written too.
  std::uint8_t* (*write)(const std::uint8_t* bytes, std::size_t count, const CodeWord* words, std::uint8_t* out);
  // All four, of these sizes in bytes; whether they are just as long as their words.
  bool (*read)(const std::uint8_t* in, const std::size_t* sizes, const CodeEntry* table, std::size_t count,
               std::uint8_t* bytes);
};
HALFBYTE_DECLARE_KERNELS(BytePlaneKernels, byte_plane_kernels)

}  // namespace halfbyte::tensor
