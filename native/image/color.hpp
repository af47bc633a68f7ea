// Colour conversions of one row, as Pillow makes them.
#pragma once

#include <cstdint>

namespace halfbyte::image {

// Inverted CMYK, which is how Adobe and in practice everybody stores it, to RGB. In place: `pixels` shrinks.
void cmyk_to_rgb(std::uint8_t* pixels, int count) noexcept;

// ITU-R BT.601 luma, rounded. In place: `pixels` shrinks.
void rgb_to_gray(std::uint8_t* pixels, int count) noexcept;

}  // namespace halfbyte::image
