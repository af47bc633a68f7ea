#include "image/filter.hpp"

#include <algorithm>
#include <cstring>

#include "base/clones.hpp"

namespace halfbyte::image {
namespace {

// Rounding can push the sum of very many weights a little over one.
std::uint8_t rounded(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::min(sum >> kWeightBits, std::int32_t{255}));
}

using Bytes16 = std::uint8_t __attribute__((vector_size(16)));
using Ints4 = std::int32_t __attribute__((vector_size(16)));

// A pixel and one byte of its neighbour: the fourth sum is made and thrown away, which is cheaper than leaving it out.
HALFBYTE_INLINE Ints4 load_pixel(const std::uint8_t* p) {
  std::int32_t word;
  std::memcpy(&word, p, sizeof word);
  const auto bytes = reinterpret_cast<Bytes16>(Ints4{word, 0, 0, 0});
  return reinterpret_cast<Ints4>(
      __builtin_shufflevector(bytes, bytes, 0, 4, 4, 4, 1, 4, 4, 4, 2, 4, 4, 4, 3, 4, 4, 4));
}

HALFBYTE_INLINE void store_pixel(Ints4 sum, std::uint8_t* p) {
  sum >>= kWeightBits;
  const auto bytes = reinterpret_cast<Bytes16>(sum > 255 ? Ints4{255, 255, 255, 255} : sum);
  const auto packed = reinterpret_cast<Ints4>(
      __builtin_shufflevector(bytes, bytes, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12, 0, 4, 8, 12));
  const std::int32_t word = packed[0];
  std::memcpy(p, &word, sizeof word);
}

// With the number of taps known to the compiler the loop over them disappears.
template <int kTaps>
HALFBYTE_INLINE void filter_colour(const Axis& axis, const std::uint8_t* row, std::uint8_t* out) {
  const int taps = kTaps > 0 ? kTaps : axis.taps;
  const int* start = axis.start.data();
  const std::int32_t* weights = axis.weights.data();
  for (const int* end = start + axis.start.size(); start != end; ++start, weights += taps, out += 3) {
    const std::uint8_t* p = row + 3 * (*start - axis.source.begin);
    Ints4 sum = {kHalf, kHalf, kHalf, kHalf};
    for (int k = 0; k < taps; ++k) sum += load_pixel(p + 3 * k) * weights[k];
    store_pixel(sum, out);
  }
}

template <int kTaps>
HALFBYTE_INLINE void filter_gray(const Axis& axis, const std::uint8_t* row, std::uint8_t* out) {
  const int taps = kTaps > 0 ? kTaps : axis.taps;
  const int* start = axis.start.data();
  const std::int32_t* weights = axis.weights.data();
  for (const int* end = start + axis.start.size(); start != end; ++start, weights += taps) {
    const std::uint8_t* p = row + (*start - axis.source.begin);
    std::int32_t sum = kHalf;
    for (int k = 0; k < taps; ++k) sum += p[k] * weights[k];
    *out++ = rounded(sum);
  }
}

template <int kRows>
HALFBYTE_INLINE void blend(const std::uint8_t* const* rows, const std::int32_t* weights, int count, std::size_t size,
                           std::uint8_t* __restrict out) {
  const int taps = kRows > 0 ? kRows : count;
  for (std::size_t i = 0; i < size; ++i) {
    std::int32_t sum = kHalf;
    for (int k = 0; k < taps; ++k) sum += rows[k][i] * weights[k];
    out[i] = rounded(sum);
  }
}

}  // namespace

HALFBYTE_CLONES
void filter_row(const Axis& axis, const std::uint8_t* row, int channels, std::uint8_t* out) {
  if (channels == 3) {
    switch (axis.taps) {
      case 2: return filter_colour<2>(axis, row, out);
      case 3: return filter_colour<3>(axis, row, out);
      case 4: return filter_colour<4>(axis, row, out);
      default: return filter_colour<0>(axis, row, out);
    }
  }
  switch (axis.taps) {
    case 2: return filter_gray<2>(axis, row, out);
    case 3: return filter_gray<3>(axis, row, out);
    case 4: return filter_gray<4>(axis, row, out);
    default: return filter_gray<0>(axis, row, out);
  }
}

HALFBYTE_CLONES
void blend_rows(const std::uint8_t* const* rows, const std::int32_t* weights, int count, std::size_t size,
                std::uint8_t* out) {
  constexpr std::size_t kBlock = 256;
  switch (count) {
    case 2: return blend<2>(rows, weights, count, size, out);
    case 3: return blend<3>(rows, weights, count, size, out);
    case 4: return blend<4>(rows, weights, count, size, out);
    default: break;
  }
  for (std::size_t begin = 0; begin < size; begin += kBlock) {
    const std::size_t n = std::min(kBlock, size - begin);
    std::int32_t sums[kBlock];
    std::fill_n(sums, n, kHalf);
    for (int k = 0; k < count; ++k) {
      const std::uint8_t* row = rows[k] + begin;
      const std::int32_t weight = weights[k];
      for (std::size_t i = 0; i < n; ++i) sums[i] += row[i] * weight;
    }
    for (std::size_t i = 0; i < n; ++i) out[begin + i] = rounded(sums[i]);
  }
}

}  // namespace halfbyte::image
