// The quantized coefficients of one JPEG, as libjpeg reads them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/status.hpp"
#include "jpeg/libjpeg.hpp"
#include "jpeg/scan_script.hpp"

namespace halfbyte::jpeg {

using Block = std::int16_t[64];  // natural (row by row) order
static_assert(sizeof(Block) == sizeof(JBLOCK) && sizeof(JCOEF) == 2);

// One component. Only blocks that hold image are counted; those that merely fill up interleaved units are not.
struct Plane {
  std::uint8_t id = 0, h = 0, v = 0;
  std::uint32_t columns = 0, rows = 0;              // in blocks
  std::array<std::uint16_t, 64> table{};            // its quantization steps, natural order
  std::vector<const Block*> block_rows;             // one pointer a row of blocks

  [[nodiscard]] const Block& block(std::size_t row, std::size_t column) const { return block_rows[row][column]; }
};

class Coefficients {
 public:
  Coefficients();
  ~Coefficients();
  Coefficients(const Coefficients&) = delete;
  Coefficients& operator=(const Coefficients&) = delete;

  // Reads the whole image; to be called once. Damage that libjpeg merely warns of is corrupt_image here.
  Status read(std::span<const Bytes> slices, const Limits& limits);

  [[nodiscard]] std::uint32_t width() const { return info_.image_width; }
  [[nodiscard]] std::uint32_t height() const { return info_.image_height; }
  [[nodiscard]] J_COLOR_SPACE color_space() const { return info_.jpeg_color_space; }
  [[nodiscard]] std::optional<ColorModel> model() const;
  [[nodiscard]] const std::vector<Plane>& planes() const { return planes_; }  // they point into this object

 private:
  Status collect(jvirt_barray_ptr* arrays);

  jpeg_decompress_struct info_{};
  ErrorManager errors_;
  SliceSource source_{};
  ScanLimit scans_{};
  std::vector<Plane> planes_;
};

}  // namespace halfbyte::jpeg
