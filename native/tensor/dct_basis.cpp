#include "tensor/dct_basis.hpp"

#include <cmath>
#include <numbers>

namespace halfbyte::tensor {
namespace {

DctBasis make_basis() {
  DctBasis basis{};
  for (int n = 1; n < 8; ++n) {
    for (int k = 0; k < n; ++k) {
      for (int i = 0; i < n; ++i) {
        const double wave = std::cos(std::numbers::pi * (2 * i + 1) * k / (2 * n));
        basis.of[n][k][i] = static_cast<float>(std::sqrt((k == 0 ? 1.0 : 2.0) / n) * wave);
      }
    }
  }
  return basis;
}

}  // namespace

const DctBasis& dct_basis() {
  static const DctBasis basis = make_basis();
  return basis;
}

double dct_factor(int k) { return k == 0 ? std::sqrt(8.0) : 4 * std::cos(k * std::numbers::pi / 16); }

}  // namespace halfbyte::tensor
