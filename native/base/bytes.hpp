// Views of bytes that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace halfbyte {

using Bytes = std::span<const std::uint8_t>;
using Buffer = std::vector<std::uint8_t>;

inline std::uint16_t big_endian_16(const std::uint8_t* p) {
  return static_cast<std::uint16_t>((p[0] << 8) | p[1]);
}

inline bool starts_with(Bytes bytes, std::string_view prefix) {
  if (bytes.size() < prefix.size()) return false;
  for (std::size_t i = 0; i < prefix.size(); ++i) {
    if (bytes[i] != static_cast<std::uint8_t>(prefix[i])) return false;
  }
  return true;
}

}  // namespace halfbyte
