// From any JPEG that can be progressive to the levels of one, proven to hold the same coefficients.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/status.hpp"
#include "jpeg/scan_script.hpp"

namespace halfbyte::jpeg {

struct Transcoded {
  Transcoded() = default;
  Transcoded(Transcoded&&) = default;  // not copied: `levels` points into `stream`
  Transcoded& operator=(Transcoded&&) = default;

  std::uint32_t width = 0, height = 0;  // as coded: the EXIF orientation is not applied
  std::uint8_t orientation = 1;         // EXIF, 1..8
  Buffer stream;                        // all levels, without an end-of-image marker
  std::vector<Bytes> levels;            // slices of `stream`, in order; empty where the image has no scan in a level
  Buffer metadata;                      // the source's APPn and COM segments; empty if `stream` has the very same
  Bytes trailing;                       // what followed the image in the source, which must outlive this
};

// Slices 1..k and an end-of-image marker are a JPEG for every k >= 1, and with all levels one with the coefficients of
// the source. corrupt_image: the source is damaged, or the result did not prove equal. unsupported_image: the reason
// comes first, as a short phrase before a colon or alone, fit for counting.
Result<Transcoded> transcode(Bytes source, const ScanScript& script, const Limits& limits);

}  // namespace halfbyte::jpeg
