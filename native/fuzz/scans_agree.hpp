// Our reader of progressive scans against libjpeg's.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "base/isa.hpp"
#include "fuzz/fuzz.hpp"
#include "jpeg/coefficients.hpp"
#include "jpeg/scan_reader.hpp"

namespace halfbyte::fuzz {

// Planes with what libjpeg reads of the head, and the memory that they lie in.
struct Planes {
  std::vector<jpeg::ScanPlane> planes;
  std::vector<std::vector<std::array<std::int16_t, 64>>> memory;

  explicit Planes(const jpeg::Coefficients& head) {
    for (const jpeg::Plane& from : head.planes()) {
      jpeg::ScanPlane plane;
      plane.columns = from.columns;
      plane.rows = from.rows;
      plane.h = from.h;
      plane.v = from.v;
      const std::size_t columns = (plane.columns + plane.h - 1) / plane.h * plane.h;
      const std::size_t rows = (plane.rows + plane.v - 1) / plane.v * plane.v;
      auto* next = reinterpret_cast<jpeg::Block*>(memory.emplace_back(columns * rows).data());
      for (std::size_t row = 0; row < rows; ++row, next += columns) {
        if (row < from.rows) std::memcpy(next, from.block_rows[row], std::size_t{from.columns} * sizeof(jpeg::Block));
        plane.block_rows.push_back(next);
      }
      plane.known.resize(std::size_t{plane.columns} * plane.rows);
      planes.push_back(std::move(plane));
    }
  }

  [[nodiscard]] bool equal(const jpeg::Coefficients& other) const {
    for (std::size_t i = 0; i < planes.size(); ++i) {
      for (std::size_t row = 0; row < planes[i].rows; ++row) {
        const std::size_t size = std::size_t{planes[i].columns} * sizeof(jpeg::Block);
        if (std::memcmp(planes[i].block_rows[row], other.planes()[i].block_rows[row], size) != 0) return false;
      }
    }
    return true;
  }
};

// Whether we read what follows the DC of this image. If so, libjpeg reads it without a warning, and the same; and every
// instruction set comes to the same.
inline bool own_scans_agree(std::span<const Bytes> slices) {
  const auto later = jpeg::later_scans(slices, kLimits);
  jpeg::Coefficients head, whole;
  if (!later || !head.read(later->head, kLimits).ok()) return false;
  const bool sound = whole.read(slices, kLimits).ok();
  std::size_t read = 0;
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    Planes own(head);
    if (!jpeg::read_scans(*later, own.planes)) continue;
    require(sound, "what we read, libjpeg reads");
    require(own.equal(whole), "we read the coefficients that libjpeg reads");
    ++read;
  }
  require(read == 0 || read == available_isas().size(), "all instruction sets read the same");
  return read != 0;
}

}  // namespace halfbyte::fuzz
