// The integers of a piece as bytes, and back: the two coders of error_bounded.hpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/block_bits.hpp"
#include "tensor/byte_plane.hpp"
#include "tensor/error_bounded.hpp"

namespace halfbyte::tensor {

// Bytes that are written at most, with what is written for speed only.
constexpr std::size_t kIntegersRoom = plane_room(kPiece) + 5 * kPiece;

// Memory for both.
struct IntegerBytes {
  std::uint8_t symbols[kPiece + kIntegersAtOnce];
};

// What is in d is lost. Returns the end of what was written.
std::uint8_t* put_huffman(std::uint32_t* d, std::size_t count, IntegerBytes& memory, std::uint8_t* out);

// All of `in`; false when it is not what `put_huffman` writes for so many.
[[nodiscard]] bool take_huffman(ByteView in, IntegerBytes& memory, std::uint32_t* d, std::size_t count);

// Blocks one after the other: `block(first)` returns those integers, 512 that may be read.
template <class Block>
std::uint8_t* put_fixed(std::size_t count, std::uint8_t* out, const Block& block) {
  const auto pack = block_bits_kernels().pack;
  std::uint8_t* head = out;
  out += (count + kBitsBlock - 1) / kBitsBlock;
  for (std::size_t first = 0; first < count; first += kBitsBlock) {
    *head = pack(block(first), out);
    out += width_of(*head++) * kBytesPerBit;
  }
  return out;
}

// `memory(first)` is where those integers go, 512 that may be written; `done(first)` is called when they are there.
template <class Memory, class Done>
[[nodiscard]] bool take_fixed(ByteView in, std::size_t count, const Memory& memory, const Done& done) {
  const auto unpack = block_bits_kernels().unpack;
  const std::size_t blocks = (count + kBitsBlock - 1) / kBitsBlock;
  if (in.size() < blocks) return false;
  std::size_t size = blocks;
  for (const std::uint8_t head : in.first(blocks)) {
    if (width_of(head) > 32) return false;
    size += width_of(head) * kBytesPerBit;
  }
  if (in.size() != size) return false;
  const std::uint8_t* bytes = in.data() + blocks;
  for (std::size_t i = 0; i < blocks; ++i) {
    unpack(in[i], bytes, memory(i * kBitsBlock));
    bytes += width_of(in[i]) * kBytesPerBit;
    done(i * kBitsBlock);
  }
  return true;
}

}  // namespace halfbyte::tensor
