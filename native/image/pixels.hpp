// A picture in memory that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halfbyte::image {

// Interleaved bytes; 1 channel (grey) or 3 (RGB). Rows may be any number of bytes apart.
struct Pixels {
  const std::uint8_t* origin;
  std::ptrdiff_t row_stride;
  int width, height, channels;

  [[nodiscard]] const std::uint8_t* row(int y) const { return origin + y * row_stride; }
};

}  // namespace halfbyte::image
