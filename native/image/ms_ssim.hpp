// Multi-scale structural similarity (Wang, Simoncelli and Bovik, Asilomar 2003).
#pragma once

#include "image/pixels.hpp"

namespace halfbyte::image {

// In [0, 1]; 1 exactly for equal pictures. On BT.601 luma, with an 11 x 11 Gaussian window of sigma 1.5 inside the
// picture. Pictures too small for five scales use as many as fit, with the weights of those; below 11 pixels one window
// covers all. Negative structure counts as 0. Sizes and channels must agree. Throws std::bad_alloc.
double ms_ssim(const Pixels& a, const Pixels& b);

}  // namespace halfbyte::image
