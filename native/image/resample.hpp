// Antialiased bilinear resampling of rows as they come, with bounded memory: equal to Pillow's, bit for bit. (From
// version 13 on Pillow takes the vertical pass first where the height shrinks by far more pixels than the width; there
// roundings differ by one level.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "image/axis.hpp"
#include "image/pixels.hpp"
#include "image/view.hpp"

namespace halfbyte::image {

// What is to be resampled: a box of an upright picture, whose pixels are stored turned and mirrored by `exif`.
struct Request {
  Box box;
  bool clip;      // crop, then resize; else resize, then crop
  int exif;       // 1..8
  bool mirrored;  // after everything else
  View out;       // upright
};

// Two passes with bytes in between, horizontal first as seen upright (so a picture stored on its side is filtered down
// its columns first). Rows wait in a ring only as long as an output row needs them.
class Resampler {
 public:
  // Plans for a source of width x height stored pixels; with `scale`, those are 1/scale of the picture that the box
  // is given on. Throws std::bad_alloc.
  void plan(const Request& request, int width, int height, double scale);

  // The stored rows and columns that the output depends on.
  [[nodiscard]] Range rows() const { return vertical_.source; }
  [[nodiscard]] Range columns() const { return horizontal_.source; }

  // Makes room for rows that hold the stored columns [begin, begin + width), which include columns().
  // Throws std::bad_alloc.
  void allocate(int begin, int width, int channels);

  // Where the next row, from rows().begin on, is to be put, and the word that it is there.
  [[nodiscard]] std::uint8_t* next_row() noexcept;
  void commit() noexcept;

  // Lets go of memory that an unusually large picture needed.
  void trim() noexcept;

 private:
  [[nodiscard]] std::uint8_t* ring_row(int row) noexcept;
  void emit(int output) noexcept;

  Axis horizontal_, vertical_;  // of the stored picture
  View out_{};                  // by stored rows and columns
  int channels_ = 0;
  std::ptrdiff_t skip_ = 0;        // bytes of a row before columns().begin
  bool raw_ring_ = false;          // the ring holds source rows; else rows that went through the horizontal pass
  int row_ = 0, output_ = 0;       // next to come, next to be written
  int ring_rows_ = 0;
  std::size_t ring_stride_ = 0;
  std::vector<std::uint8_t> ring_, source_row_, filtered_, line_;
  std::vector<const std::uint8_t*> taps_;
};

// Resamples a picture that was decoded elsewhere. Grey becomes RGB and RGB becomes BT.601 luma as request.out asks.
// Throws std::bad_alloc.
void resample(const Pixels& pixels, const Request& request);

}  // namespace halfbyte::image
