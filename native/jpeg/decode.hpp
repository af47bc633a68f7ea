// From the slices of one JPEG to pixels in the caller's memory.
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/status.hpp"
#include "image/resample.hpp"

namespace halfbyte::jpeg {

// What a decode does beside the picture itself.
struct DecodeOptions {
  Limits limits;
  // The smallest DCT scale is used at which the box still has at least this many pixels for every output pixel, in
  // both directions; 0 and infinity decode at full size.
  double min_scale_ratio = 0;
};

// One picture: the slices of its first levels, in order, without end-of-image marker; the size that its header must
// have; and what is wanted of it. The box lies within the upright picture, request.out is not empty.
struct Sample {
  std::span<const Bytes> slices;
  std::uint32_t width, height;
  image::Request request;
};

// Every warning of libjpeg is damage. Pixels are a pure function of the coefficients: nothing is smoothed across
// blocks; a prefix that has only DC coefficients is decoded to one pixel a block and interpolated. Bytes after the last
// row that the output needs are looked at only where the file has several scans. Progressive scans are read by our own
// reader, several times as fast as libjpeg's, or by libjpeg where it declines. Throws std::bad_alloc.
Status decode(const Sample& sample, const DecodeOptions& options);

// Whether no scan of the slices holds an AC coefficient. Stops at the first that does; false for what is no JPEG.
bool holds_only_dc(std::span<const Bytes> slices);

}  // namespace halfbyte::jpeg
