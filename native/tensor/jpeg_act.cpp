#include "tensor/jpeg_act.hpp"

#include <atomic>
#include <cmath>
#include <cstring>
#include <new>
#include <vector>

#include "tensor/channels.hpp"
#include "tensor/jpeg_act_pieces.hpp"
#include "tensor/parallel.hpp"
#include "tensor/workspace.hpp"

namespace halfbyte::tensor {
namespace {

constexpr float kLevels = 1.125F * 128;
constexpr std::size_t kSlack = 64;  // bytes that kernels write behind their codes

const JpegActKernels& kernels_for(const MapShape& shape, Element element) {
  const auto& kernels = shape.inner == 1 ? jpeg_act_plane_kernels() : jpeg_act_channel_kernels();
  return kernels.of[static_cast<int>(element)];
}

// Where the codes of a piece begin in the workspace, all of which could be 64 a tile.
std::size_t room_before(std::size_t index, const Piece& piece) { return piece.first_tile * 64 + index * kSlack; }

}  // namespace

bool jpeg_act_scales(const void* x, Element element, const MapShape& shape, float* scales, float* inverse,
                     int num_threads) {
  const bool planar = shape.inner == 1;
  const std::size_t area = shape.height * shape.width;
  const std::size_t outer = planar ? shape.planes / shape.channels : shape.planes * area;
  channel_ranges(x, element, outer, shape.channels, planar ? area : 1, scales, num_threads);
  bool all_finite = true;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    const float largest = scales[c];
    const bool usable = std::isfinite(kLevels / largest);
    inverse[c] = usable ? kLevels / largest : 0;
    scales[c] = std::isinf(largest) ? NAN : usable ? largest / kLevels : 0;
    all_finite &= !std::isinf(largest);
  }
  return all_finite;
}

std::size_t jpeg_act_pieces(const MapShape& shape) { return Pieces(shape).count(); }

std::size_t jpeg_act_encode(const void* x, Element element, const MapShape& shape, const float* inverse,
                            const JpegActTables& tables, std::uint64_t* masks, std::int64_t* counts,
                            int num_threads) {
  const Pieces pieces(shape);
  std::uint8_t* const room = workspace(64 * shape.tiles() + kSlack * pieces.count());
  if (room == nullptr) throw std::bad_alloc();
  const JpegActKernels& kernels = kernels_for(shape, element);
  parallel_for(num_threads, pieces.count(), [&](std::size_t i) {
    const Piece piece = pieces[i];
    std::uint8_t* const begin = room + room_before(i, piece);
    std::uint8_t* codes = begin;
    std::uint64_t* masks_of_grid = masks + piece.first_tile;
    for (std::size_t g = 0; g < piece.num_grids; ++g) {
      codes += kernels.encode(x, shape.count(), piece.grids[g], inverse, tables, masks_of_grid, codes);
      masks_of_grid += tiles_of(piece.grids[g]);
    }
    counts[i] = codes - begin;
  });
  std::size_t total = 0;
  for (std::size_t i = 0; i < pieces.count(); ++i) total += static_cast<std::size_t>(counts[i]);
  return total;
}

void jpeg_act_gather(const MapShape& shape, const std::int64_t* counts, std::uint8_t* codes, int num_threads) {
  const Pieces pieces(shape);
  const std::uint8_t* const room = workspace(64 * shape.tiles() + kSlack * pieces.count());
  const std::vector<std::size_t> begins = begins_of(counts, pieces.count());
  parallel_for(num_threads, pieces.count(), [&](std::size_t i) {
    std::memcpy(codes + begins[i], room + room_before(i, pieces[i]), static_cast<std::size_t>(counts[i]));
  });
}

bool jpeg_act_decode(const ZvcTiles& tiles, std::size_t num_codes, Element element, const MapShape& shape,
                     const float* scales, const JpegActTables& tables, void* x, int num_threads) {
  const Pieces pieces(shape);
  const auto begins = begins_within(tiles.counts, pieces.count(), num_codes);
  if (!begins) return false;
  const JpegActKernels& kernels = kernels_for(shape, element);
  std::atomic<bool> sound{true};
  parallel_for(num_threads, pieces.count(), [&](std::size_t i) {
    const Piece piece = pieces[i];
    const std::uint64_t* masks_of_grid = tiles.masks + piece.first_tile;
    std::size_t used = 0;
    const auto count = static_cast<std::size_t>(tiles.counts[i]);
    for (std::size_t g = 0; g < piece.num_grids && used <= count; ++g) {
      const TileGrid& grid = piece.grids[g];
      const std::size_t begin = (*begins)[i] + used;
      used += kernels.decode(masks_of_grid, tiles.codes + begin, count - used, num_codes - begin, grid, scales, tables,
                             x);
      masks_of_grid += tiles_of(grid);
    }
    if (used != count) sound.store(false, std::memory_order_relaxed);
  });
  return sound.load(std::memory_order_relaxed);
}

}  // namespace halfbyte::tensor
