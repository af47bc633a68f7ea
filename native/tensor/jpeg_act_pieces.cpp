#include "tensor/jpeg_act_pieces.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace halfbyte::tensor {
namespace {

constexpr std::size_t ceil_div(std::size_t a, std::size_t b) { return (a + b - 1) / b; }

// A grid whose first tile is this one, but for how many there are.
TileGrid grid_at(const MapShape& shape, std::size_t plane, std::size_t row, std::size_t column) {
  const std::size_t line = shape.width * shape.inner;
  return {.first_plane = plane,
          .planes = 0,
          .rows = 0,
          .columns = 0,
          .inner = shape.inner,
          .channels = shape.channels,
          .first = (plane * shape.height + 8 * row) * line + 8 * column * shape.inner,
          .plane_stride = shape.height * line,
          .row_stride = 8 * line,
          .column_stride = 8 * shape.inner,
          .line_stride = line,
          .height = static_cast<int>(std::min<std::size_t>(shape.height - 8 * row, 8)),
          .width = static_cast<int>(std::min<std::size_t>(shape.width - 8 * column, 8))};
}

}  // namespace

Pieces::Pieces(const MapShape& shape) : shape_(shape), rows_(shape.rows()) {
  const std::size_t tiles_of_row = shape.columns() * shape.inner, tiles_of_plane = shape.rows() * tiles_of_row;
  if (shape.tiles() == 0) return;
  if (tiles_of_plane <= kPieceTiles) {
    planes_ = kPieceTiles / tiles_of_plane;
  } else {
    rows_ = std::max<std::size_t>(kPieceTiles / tiles_of_row, 1);
    parts_ = ceil_div(shape.rows(), rows_);
  }
  groups_ = ceil_div(shape.planes, planes_);
}

Piece Pieces::operator[](std::size_t index) const {
  const std::size_t plane = index / parts_ * planes_, row = index % parts_ * rows_;
  const std::size_t planes = std::min(planes_, shape_.planes - plane), rows = std::min(rows_, shape_.rows() - row);
  const std::size_t whole_rows = std::min(row + rows, shape_.height / 8) - row, whole_columns = shape_.width / 8;
  Piece piece{.first_tile = (plane * shape_.rows() + row) * shape_.columns() * shape_.inner,
              .tiles = planes * rows * shape_.columns() * shape_.inner};
  for (const bool bottom : {false, true}) {
    for (const bool right : {false, true}) {
      TileGrid grid = grid_at(shape_, plane, bottom ? row + whole_rows : row, right ? whole_columns : 0);
      grid.planes = planes;
      grid.rows = bottom ? rows - whole_rows : whole_rows;
      grid.columns = right ? shape_.columns() - whole_columns : whole_columns;
      if (tiles_of(grid) > 0) piece.grids[piece.num_grids++] = grid;
    }
  }
  return piece;
}

std::vector<std::size_t> begins_of(const std::int64_t* counts, std::size_t pieces) {
  std::vector<std::size_t> begins(pieces);
  for (std::size_t i = 1; i < pieces; ++i) begins[i] = begins[i - 1] + static_cast<std::size_t>(counts[i - 1]);
  return begins;
}

std::optional<std::vector<std::size_t>> begins_within(const std::int64_t* counts, std::size_t pieces,
                                                      std::size_t total) {
  std::vector<std::size_t> begins(pieces);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < pieces; ++i) {
    begins[i] = begin;
    if (counts[i] < 0 || static_cast<std::size_t>(counts[i]) > total - begin) return std::nullopt;
    begin += static_cast<std::size_t>(counts[i]);
  }
  return begin == total ? std::optional(std::move(begins)) : std::nullopt;
}

}  // namespace halfbyte::tensor
