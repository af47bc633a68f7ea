#include "image/view.hpp"

#include <cstring>

#include "base/clones.hpp"

namespace halfbyte::image {
namespace {

// Three planes at once, which compilers turn into shuffles of whole vectors.
HALFBYTE_CLONES
void split(const std::uint8_t* __restrict from, int count, std::uint8_t* __restrict red, std::uint8_t* __restrict green,
           std::uint8_t* __restrict blue) {
  for (int i = 0; i < count; ++i) {
    red[i] = from[3 * i];
    green[i] = from[3 * i + 1];
    blue[i] = from[3 * i + 2];
  }
}

// `step` is the distance in bytes between the elements of one channel in the destination, `stride` in the source.
void put_bytes(std::uint8_t* to, std::ptrdiff_t step, const std::uint8_t* from, int stride, int count) {
  if (step == 1) {
    for (int i = 0; i < count; ++i) to[i] = from[i * stride];
  } else {
    for (int i = 0; i < count; ++i) to[i * step] = from[i * stride];
  }
}

void put_floats(std::uint8_t* to, std::ptrdiff_t step, const std::uint8_t* from, int stride, int count,
                const float* table) {
  if (step == sizeof(float)) {
    auto* floats = reinterpret_cast<float*>(to);
    for (int i = 0; i < count; ++i) floats[i] = table[from[i * stride]];
  } else {
    for (int i = 0; i < count; ++i) *reinterpret_cast<float*>(to + i * step) = table[from[i * stride]];
  }
}

}  // namespace

void write_row(const View& view, int row, const std::uint8_t* pixels, int channels) noexcept {
  std::uint8_t* to = view.origin + row * view.row_stride;
  const bool interleaved = channels == 1 || view.channel_stride == 1;
  if (view.table == nullptr && channels == view.channels && interleaved && view.column_stride == channels) {
    std::memcpy(to, pixels, static_cast<std::size_t>(view.columns) * static_cast<std::size_t>(channels));
    return;
  }
  if (view.table == nullptr && channels == 3 && view.column_stride == 1) {
    return split(pixels, view.columns, to, to + view.channel_stride, to + 2 * view.channel_stride);
  }
  for (int channel = 0; channel < view.channels; ++channel) {
    const std::uint8_t* from = pixels + (channels == 1 ? 0 : channel);
    std::uint8_t* plane = to + channel * view.channel_stride;
    if (view.table != nullptr) {
      put_floats(plane, view.column_stride, from, channels, view.columns, view.table + 256 * channel);
    } else {
      put_bytes(plane, view.column_stride, from, channels, view.columns);
    }
  }
}

void clear(const View& view) noexcept {
  const std::size_t element = view.table != nullptr ? sizeof(float) : 1;
  for (int row = 0; row < view.rows; ++row) {
    for (int column = 0; column < view.columns; ++column) {
      for (int channel = 0; channel < view.channels; ++channel) {
        std::memset(view.origin + row * view.row_stride + column * view.column_stride +
                        channel * view.channel_stride,
                    0, element);
      }
    }
  }
}

}  // namespace halfbyte::image
