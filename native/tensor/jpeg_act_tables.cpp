#include "tensor/jpeg_act_tables.hpp"

#include <cmath>
#include <initializer_list>
#include <limits>

namespace halfbyte::tensor {
namespace {

float reciprocal_above(int q) {
  const float nearest = 1 / static_cast<float>(q);
  const bool falls_short = static_cast<double>(nearest) * q < 1;  // exact in double
  return falls_short ? std::nextafter(nearest, std::numeric_limits<float>::infinity()) : nearest;
}

// What butterflies of 8 points leave, and what others do.
struct Factors {
  double of[2][8];  // [whole]

  Factors() {
    for (int k = 0; k < 8; ++k) {
      of[0][k] = 1;
      of[1][k] = dct_factor(k);
    }
  }
};

}  // namespace

JpegActTables jpeg_act_tables(const std::uint16_t* table, Rounding rounding) {
  static const Factors factors;
  JpegActTables tables;
  tables.rounding = rounding;
  tables.basis = dct_basis();
  for (int v = 0; v < 8; ++v) {
    for (int u = 0; u < 8; ++u) {
      const int i = 8 * v + u, q = table[8 * u + v];
      tables.bias[i] = rounding == Rounding::truncate ? 0 : static_cast<float>(q) / 2;
      tables.reciprocal[i] = reciprocal_above(q);
      for (const bool whole_height : {false, true}) {
        for (const bool whole_width : {false, true}) {
          const double factor = factors.of[whole_height][u] * factors.of[whole_width][v];
          const double points = (whole_height ? 8 : 1) * (whole_width ? 8 : 1);
          tables.forward[whole_height][whole_width][i] = static_cast<float>(1 / factor);
          tables.inverse[whole_height][whole_width][i] = static_cast<float>(factor / points * q);
        }
      }
    }
  }
  return tables;
}

}  // namespace halfbyte::tensor
