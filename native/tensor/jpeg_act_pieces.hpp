// How maps are cut into pieces, which threads work on apart, and pieces into grids of equal tiles. Both follow from the
// shape alone. Codes lie in the order of pieces, and in these of grids.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "tensor/jpeg_act.hpp"

namespace halfbyte::tensor {

constexpr std::size_t tiles_of(const TileGrid& grid) { return grid.planes * grid.rows * grid.columns * grid.inner; }

// A piece is this many tiles, or a little less: several whole planes, or some rows of one.
constexpr std::size_t kPieceTiles = 512;

struct Piece {
  std::size_t first_tile = 0, tiles = 0;
  // Whole tiles, then those at the right edge, at the bottom, and in the corner, where there are any.
  std::array<TileGrid, 4> grids{};
  std::size_t num_grids = 0;
};

class Pieces {
 public:
  explicit Pieces(const MapShape& shape);

  [[nodiscard]] std::size_t count() const { return groups_ * parts_; }
  [[nodiscard]] Piece operator[](std::size_t index) const;

 private:
  MapShape shape_;
  std::size_t planes_ = 1, rows_;       // of a piece
  std::size_t groups_ = 0, parts_ = 1;  // pieces along the planes; along the rows of a plane
};

// Where the data of each piece begins when they follow one another.
std::vector<std::size_t> begins_of(const std::int64_t* counts, std::size_t pieces);
// Likewise, for counts that nobody has vouched for: nothing unless their sum is `total`.
std::optional<std::vector<std::size_t>> begins_within(const std::int64_t* counts, std::size_t pieces,
                                                      std::size_t total);

}  // namespace halfbyte::tensor
