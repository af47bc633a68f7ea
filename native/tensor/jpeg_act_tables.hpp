// What JPEG-ACT's kernels multiply with, made once a call from a quantization table.
#pragma once

#include <cstdint>

#include "tensor/dct_basis.hpp"

namespace halfbyte::tensor {

enum class Rounding : int { truncate = 0, nearest };

// Factors of the 64 coefficients, by columns: that of vertical frequency u and horizontal frequency v is [8 * v + u].
// A code is trunc((|c| + bias) * reciprocal) with the sign of c, the rounded coefficient; bias is 0, or q / 2 to round
// to nearest. That divides integers exactly: reciprocal is 1 / q or the next float above, so no multiple of q falls
// short, and it is off by far less than |c| + bias would need to reach the next one (1e-7 of 1200, against 1 / 2).
struct JpegActTables {
  Rounding rounding;
  float bias[64];
  float reciprocal[64];
  // [whole height][whole width] of the tile, since butterflies of 8 points leave factors and others do not.
  float forward[2][2][64];  // what they gave, to orthonormal
  float inverse[2][2][64];  // a code, to what they want
  DctBasis basis;
};

// `table`: 64 entries from 1 to 256, row by row (of vertical frequencies).
JpegActTables jpeg_act_tables(const std::uint16_t* table, Rounding rounding);

}  // namespace halfbyte::tensor
