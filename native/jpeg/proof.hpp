// The proof that nothing was lost: both streams read by libjpeg, compared number by number.
#pragma once

#include "base/status.hpp"
#include "jpeg/coefficients.hpp"

namespace halfbyte::jpeg {

// corrupt_image, "not equal after transcoding: ...", unless size, colour space, sampling, quantization tables and every
// coefficient of both are the same.
Status prove_equal(const Coefficients& original, const Coefficients& result);

}  // namespace halfbyte::jpeg
