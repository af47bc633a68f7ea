// Integers in blocks of 512, each with as many bits as its greatest needs.
//
// First a byte for each block: the bits of its integers, plus 128 if they have a sign; then they are doubled, and those
// below 0 become odd, as in error_bounded.hpp. Then the blocks, 64 bytes for each bit: integer i is in column i % 16;
// those of a column are a stream of bits, lowest first, and 32-bit words of the columns take turns. The last block is
// filled up with zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/isa.hpp"

namespace halfbyte::tensor {

constexpr std::size_t kBitsBlock = 512;
constexpr std::size_t kBytesPerBit = kBitsBlock / 8;

constexpr std::uint8_t kHasSign = 128;
constexpr std::size_t width_of(std::uint8_t head) { return head % kHasSign; }

struct BlockBitsKernels {
  // One block; returns its head, and writes 64 bytes for each bit.
  std::uint8_t (*pack)(const std::uint32_t* d, std::uint8_t* out);
  // The reverse. The head says at most 32 bits.
  void (*unpack)(std::uint8_t head, const std::uint8_t* in, std::uint32_t* d);
};
HALFBYTE_DECLARE_KERNELS(BlockBitsKernels, block_bits_kernels)

}  // namespace halfbyte::tensor
