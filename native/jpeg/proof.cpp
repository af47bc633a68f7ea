#include "jpeg/proof.hpp"

#include <cstring>
#include <string>

namespace halfbyte::jpeg {
namespace {

Status unequal(const std::string& what) {
  return Status::failure(Code::corrupt_image, "not equal after transcoding: " + what);
}

bool same_form(const Plane& a, const Plane& b) {
  return a.id == b.id && a.h == b.h && a.v == b.v && a.columns == b.columns && a.rows == b.rows;
}

}  // namespace

Status prove_equal(const Coefficients& original, const Coefficients& result) {
  if (original.width() != result.width() || original.height() != result.height()) return unequal("the size");
  if (original.color_space() != result.color_space()) return unequal("the colour space");
  if (original.planes().size() != result.planes().size()) return unequal("the number of components");
  for (std::size_t i = 0; i < original.planes().size(); ++i) {
    const Plane& a = original.planes()[i];
    const Plane& b = result.planes()[i];
    const std::string component = " of component " + std::to_string(i);
    if (!same_form(a, b)) return unequal("the sampling" + component);
    if (a.table != b.table) return unequal("the quantization table" + component);
    for (std::size_t row = 0; row < a.rows; ++row) {
      if (std::memcmp(a.block_rows[row], b.block_rows[row], a.columns * sizeof(Block)) != 0) {
        return unequal("the coefficients" + component + ", block row " + std::to_string(row));
      }
    }
  }
  return {};
}

}  // namespace halfbyte::jpeg
