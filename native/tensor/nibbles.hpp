// Two 4-bit codes in a byte, the first in the low half; for kernel files. Loops are plain: compilers vectorize them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// Codes of one byte each, clipped; an odd number of them is followed by 0. Changes `codes`.
template <bool kUnsigned>
void pack_nibbles(std::uint8_t* __restrict codes, std::size_t n, std::uint8_t* __restrict packed) {
  for (std::size_t i = 0; i < n; ++i) {
    const int code = kUnsigned ? codes[i] : static_cast<std::int8_t>(codes[i]);
    const int low = kUnsigned ? 0 : -8, high = kUnsigned ? 15 : 7;
    codes[i] = static_cast<std::uint8_t>(code < low ? low : code > high ? high : code);
  }
  codes[n] = 0;
  for (std::size_t i = 0; i < (n + 1) / 2; ++i) {
    std::uint16_t two;
    std::memcpy(&two, codes + 2 * i, 2);
    packed[i] = static_cast<std::uint8_t>((two & 0x0f) | (two >> 4 & 0xf0));
  }
}

// The reverse; signed codes get their sign in all eight bits. An odd number of codes is followed by another byte.
template <bool kUnsigned>
void unpack_nibbles(const std::uint8_t* __restrict packed, std::size_t n, std::uint8_t* __restrict codes) {
  for (std::size_t i = 0; i < (n + 1) / 2; ++i) {
    const auto two = static_cast<std::uint16_t>((packed[i] & 0x0f) | (packed[i] & 0xf0) << 4);
    std::memcpy(codes + 2 * i, &two, 2);
  }
  const std::uint8_t sign = kUnsigned ? 0 : 8;
  for (std::size_t i = 0; i < n; ++i) codes[i] = static_cast<std::uint8_t>((codes[i] ^ sign) - sign);
}

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
