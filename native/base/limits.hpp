// Caps that are checked before anything is allocated for an image.
#pragma once

#include <cstdint>

namespace halfbyte {

struct Limits {
  std::uint64_t max_pixels = std::uint64_t{1} << 28;             // 16384 x 16384
  std::uint32_t max_components = 4;
  std::uint32_t max_scans = 256;                                 // a long list of scans is a cheap way to burn hours
  std::uint64_t max_coefficient_bytes = std::uint64_t{1} << 31;  // two bytes a coefficient, whole blocks
};

// For images that this library wrote.
constexpr Limits unlimited() { return {~std::uint64_t{0}, 255, ~std::uint32_t{0} >> 1, ~std::uint64_t{0}}; }

}  // namespace halfbyte
