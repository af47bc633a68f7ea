#include "image/color.hpp"

namespace halfbyte::image {
namespace {

// a * b / 255, rounded, for bytes.
int scaled(int a, int b) {
  const int product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

}  // namespace

void cmyk_to_rgb(std::uint8_t* pixels, int count) noexcept {
  const std::uint8_t* from = pixels;
  std::uint8_t* to = pixels;
  for (int i = 0; i < count; ++i, from += 4, to += 3) {
    const int white = from[3];
    const int red = white - scaled(255 - from[0], white);
    const int green = white - scaled(255 - from[1], white);
    const int blue = white - scaled(255 - from[2], white);
    to[0] = static_cast<std::uint8_t>(red);
    to[1] = static_cast<std::uint8_t>(green);
    to[2] = static_cast<std::uint8_t>(blue);
  }
}

void rgb_to_gray(std::uint8_t* pixels, int count) noexcept {
  // 0.299, 0.587, 0.114 in 16 bits.
  for (int i = 0; i < count; ++i) {
    const std::uint8_t* from = pixels + 3 * i;
    pixels[i] = static_cast<std::uint8_t>((from[0] * 19595 + from[1] * 38470 + from[2] * 7471 + 0x8000) >> 16);
  }
}

}  // namespace halfbyte::image
