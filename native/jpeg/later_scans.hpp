// Where a progressive JPEG goes on after its DC: the scans that this library decodes itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "jpeg/huffman.hpp"
#include "jpeg/markers.hpp"

namespace halfbyte::jpeg {

// A scan of AC coefficients, or a refinement of DC.
struct LaterScan {
  ScanSpec spec;
  std::size_t code = 0;                // its Huffman code, for AC: which of LaterScans::codes
  std::size_t begin = 0, end = 0;      // its data, for CodedBits: a range of LaterScans::bits
};

struct LaterScans {
  std::vector<Bytes> head;             // slices with all that comes before, for libjpeg
  std::vector<LaterScan> scans;        // in order, at least one
  std::vector<HuffmanCode> codes;
  Buffer bits;
};

// Looks for them in the slices of an image. Nothing where the image is not progressive, ends with its DC, or has
// anything uncommon, damage included: restart intervals, arithmetic coding, segments other than Huffman tables between
// scans, a scan that breaks a rule of T.81 G.1.1.1, a segment cut by the end of a slice. Throws std::bad_alloc.
std::optional<LaterScans> later_scans(std::span<const Bytes> slices, const Limits& limits);

}  // namespace halfbyte::jpeg
