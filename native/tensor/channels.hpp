// Ranges of channels, from which codecs take their scales.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/element.hpp"
#include "base/isa.hpp"

namespace halfbyte::tensor {

// max_abs[c] = max |x| over channel c of a contiguous (outer, channels, inner) array; +Inf when the channel holds NaN
// or Inf (sign of nothing else). Returns whether every element is >= 0 (-0.0 counts as >= 0, NaN as not).
bool channel_ranges(const void* x, Element element, std::size_t outer, std::size_t channels, std::size_t inner,
                    float* max_abs, int num_threads);

// As integers, the bit patterns of floats without their sign are in the order of the values, with infinity and then NaN
// on top. So the largest pattern is the largest magnitude, found without any arithmetic on floats; and the largest
// pattern with sign is beyond that of -0.0 when anything is negative.
struct ChannelKernels {
  // Both return the largest pattern with sign. The first raises max_bits[c] (atomically) to the largest pattern without
  // sign in channel c, among `count` elements from the one of index `first` in memory order.
  std::uint32_t (*planes)(const void* x, std::size_t first, std::size_t count, std::size_t channels, std::size_t inner,
                          std::uint32_t* max_bits);
  // The same for each column of a block of rows: raises max_bits[j] to the largest among x[r * stride + j], r < rows.
  std::uint32_t (*columns)(const void* x, std::size_t rows, std::size_t stride, std::size_t width,
                           std::uint32_t* max_bits);
  // Patterns without sign to values, infinity for all that are not finite.
  void (*to_float)(const std::uint32_t* bits, std::size_t count, float* values);
};
struct ChannelKernelsOfElements {
  ChannelKernels of[3];  // by Element
};
HALFBYTE_DECLARE_KERNELS(ChannelKernelsOfElements, channel_kernels)

}  // namespace halfbyte::tensor
