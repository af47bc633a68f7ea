// Whether the DCT is worth it is told by a few tiles: the same ones whatever the order of memory.
#pragma once

#include <cstddef>

#include "tensor/jpeg_act.hpp"

namespace halfbyte::tensor {

constexpr std::size_t kGateTiles = 64;

enum class Coder : int { zvc = 0, rle };

struct JpegActEstimate {
  std::size_t elements, nonzeros;  // of the sample
  std::size_t bytes;               // of its codes, without masks, or with the coder for run lengths of its stream
};

// `inverse` as from jpeg_act_scales.
JpegActEstimate jpeg_act_estimate(const void* x, Element element, const MapShape& shape, const float* inverse,
                                  const JpegActTables& tables, Coder coder);

}  // namespace halfbyte::tensor
