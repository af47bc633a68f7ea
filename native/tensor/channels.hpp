// Ranges of channels, from which codecs take their scales.
#pragma once

#include <cstddef>

#include "tensor/element.hpp"

namespace halfbyte::tensor {

// max_abs[c] = max |x| over channel c of a contiguous (outer, channels, inner) array; +Inf when the channel holds NaN or
// Inf (sign of nothing else). Returns whether every element is >= 0 (-0.0 counts as >= 0, NaN as not).
bool channel_ranges(const void* x, Element element, std::size_t outer, std::size_t channels, std::size_t inner,
                    float* max_abs, int num_threads);

}  // namespace halfbyte::tensor
