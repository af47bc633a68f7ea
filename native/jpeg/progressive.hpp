// Writes coefficients as a progressive JPEG. libjpeg can do it too, in twice the time and more: it runs over the blocks
// twice a scan, once to count symbols. What is written here is read back by libjpeg before anybody relies on it
// (proof.hpp).
#pragma once

#include <span>

#include "base/bytes.hpp"
#include "base/status.hpp"
#include "jpeg/coefficients.hpp"
#include "jpeg/scan_script.hpp"

namespace halfbyte::jpeg {

// The stream up to the end of its last scan, without an end-of-image marker. `application` holds whole APPn segments
// for its start. DC scans over more than ten blocks a unit must have been split. unsupported_image: a coefficient is
// larger than T.81 has symbols for.
Result<Buffer> write_progressive(const Coefficients& image, ColorModel model, std::span<const ScanSpec> scans,
                                 Bytes application);

}  // namespace halfbyte::jpeg
