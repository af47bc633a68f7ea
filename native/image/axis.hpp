// One axis of a resampling: which source pixels make an output pixel, and with what weights.
#pragma once

#include <cstdint>
#include <vector>

namespace halfbyte::image {

// Whole pixels [begin, end).
struct Range {
  int begin, end;
  [[nodiscard]] int size() const { return end - begin; }
};

// Weights are fixed-point numbers: 8 bits of pixel and a carry leave 22 of 32.
constexpr int kWeightBits = 22;
constexpr std::int32_t kOne = std::int32_t{1} << kWeightBits;
constexpr std::int32_t kHalf = kOne / 2;

struct AxisSpec {
  int size;        // of the source, in pixels
  double begin;    // of the box on the source
  double length;   // of the box, more than 0
  int output;      // pixels
  bool clip;       // no pixel outside the box counts (crop, then resize); else the box only moves the window
  bool reversed;   // the source is stored the other way round
};

struct Axis {
  std::vector<int> first;   // of every output pixel: its first source pixel,
  std::vector<int> count;   // and how many follow
  std::vector<int> start;   // where its weights start: `taps` of them, zeros included, all within `source`
  std::vector<std::int32_t> weights;
  int taps = 0;
  Range source{0, 0};   // all that is needed
  bool copies = false;  // every output pixel is one source pixel, and they are neighbours

  [[nodiscard]] int output() const { return static_cast<int>(first.size()); }
  // The weights of source pixels first[i] and on.
  [[nodiscard]] const std::int32_t* weights_of(int i) const {
    const auto at = static_cast<std::size_t>(i);
    return weights.data() + at * static_cast<std::size_t>(taps) + (first[at] - start[at]);
  }

  // The antialiased triangle filter: support is one output pixel when shrinking, one source pixel when enlarging.
  // Entries are in stored order. Throws std::bad_alloc.
  void fill(const AxisSpec& spec);

  // Makes the output come out the other way round.
  void mirror();

 private:
  void even_out(int stride);
};

}  // namespace halfbyte::image
