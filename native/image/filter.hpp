// The inner loops of resampling: fixed-point weighted sums of bytes, rounded to bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "image/axis.hpp"

namespace halfbyte::image {

// One row through an axis. `row` starts at axis.source.begin; three readable bytes follow it, and `out`.
void filter_row(const Axis& axis, const std::uint8_t* row, int channels, std::uint8_t* out);

// `size` sums of `count` rows.
void blend_rows(const std::uint8_t* const* rows, const std::int32_t* weights, int count, std::size_t size,
                std::uint8_t* out);

}  // namespace halfbyte::image
