// Where pixels go: one strided view, in which layout, EXIF orientation and mirroring are nothing but strides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace halfbyte::image {

// A rectangle in pixels; its corners need not be whole numbers.
struct Box {
  double x, y, width, height;
};

// Strides are in bytes and may be negative. Elements are bytes; with a table float32, table[256 * channel + pixel].
struct View {
  std::uint8_t* origin;
  std::ptrdiff_t row_stride, column_stride, channel_stride;
  int rows, columns, channels;
  const float* table;
};

// EXIF orientation as steps from the stored to the upright picture.
struct Orientation {
  bool transposed;         // stored rows are upright columns
  bool rows_reversed;      // the first stored row is the last upright row (or column)
  bool columns_reversed;   // likewise
};

inline Orientation orientation_of(int exif) {
  constexpr Orientation kOrientations[9] = {
      {false, false, false}, {false, false, false}, {false, false, true}, {false, true, true}, {false, true, false},
      {true, false, false},  {true, true, false},   {true, true, true},   {true, false, true},
  };
  return kOrientations[exif >= 1 && exif <= 8 ? exif : 0];
}

inline void reverse_rows(View& view) {
  view.origin += (view.rows - 1) * view.row_stride;
  view.row_stride = -view.row_stride;
}

inline void reverse_columns(View& view) {
  view.origin += (view.columns - 1) * view.column_stride;
  view.column_stride = -view.column_stride;
}

// The same destination, addressed by stored instead of upright rows and columns.
inline View stored_view(View upright, Orientation orientation, bool mirrored) {
  View view = upright;
  if (mirrored) reverse_columns(view);
  if (orientation.transposed) {
    std::swap(view.row_stride, view.column_stride);
    std::swap(view.rows, view.columns);
  }
  if (orientation.rows_reversed) reverse_rows(view);
  if (orientation.columns_reversed) reverse_columns(view);
  return view;
}

// Writes one row of interleaved pixels; a single channel goes to all channels of the view.
void write_row(const View& view, int row, const std::uint8_t* pixels, int channels) noexcept;

// Fills the view with zeros.
void clear(const View& view) noexcept;

}  // namespace halfbyte::image
