// What the transforms of dct.hpp multiply with.
#pragma once

namespace halfbyte::tensor {

// of[n][k][i]: element i of the k-th of the n orthonormal basis rows of the n-point DCT, for n from 1 to 7.
struct DctBasis {
  float of[8][8][8];
};
const DctBasis& dct_basis();

// kDctFactor of dct.hpp.
double dct_factor(int k);

}  // namespace halfbyte::tensor
