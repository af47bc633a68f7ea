// From the bits of progressive scans to coefficients (T.81, Annex G). libjpeg reads them too, one coefficient and one
// bit of correction at a time; here the coefficients of a block that are not zero are a set, so that a run of zeros is
// found, and corrections are dealt out, in a few instructions each.
#pragma once

#include <cstdint>
#include <vector>

#include "base/isa.hpp"
#include "jpeg/coefficients.hpp"
#include "jpeg/later_scans.hpp"
#include "jpeg/significance.hpp"

namespace halfbyte::jpeg {

// The coefficients of one component, in place.
struct ScanPlane {
  std::uint32_t columns = 0, rows = 0;    // blocks that hold image
  std::uint32_t h = 0, v = 0;             // blocks of an interleaved unit, across and down
  std::vector<Block*> block_rows;         // whole interleaved units
  BlockSets known;                        // columns x rows sets of the AC coefficients that are not zero
};

struct ScanKernels {
  bool (*read)(const LaterScans& later, std::vector<ScanPlane>& planes);
};

HALFBYTE_DECLARE_KERNELS(ScanKernels, scan_kernels)

// Decodes all the scans into planes whose AC coefficients are zero. False where libjpeg would warn, and in some cases
// where it would not, such as numbers of more bits than samples of 8 bits need; the planes are of no use then.
inline bool read_scans(const LaterScans& later, std::vector<ScanPlane>& planes) {
  return scan_kernels().read(later, planes);
}

}  // namespace halfbyte::jpeg
