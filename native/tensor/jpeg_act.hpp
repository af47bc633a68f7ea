// JPEG-ACT (Evans, Liu and Aamodt, 2020, section III): feature maps in 8-bit fixed point, cut into tiles of 8 by 8,
// each transformed by the DCT, quantized, and held as a mask of its non-zero codes and these codes, in zig-zag order.
//
// Maps whose height or width is no multiple of 8 end in smaller tiles, with a DCT of their own size: nothing is padded,
// and no coefficient says anything of elements that do not exist.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/element.hpp"
#include "base/isa.hpp"
#include "tensor/jpeg_act_tables.hpp"

namespace halfbyte::tensor {

// Maps as they lie in memory: a contiguous (planes, height, width, inner) array. NCHW has inner = 1 and a plane for
// each image and channel, channels_last has inner = channels and a plane for each image.
struct MapShape {
  std::size_t planes, height, width, inner, channels;

  [[nodiscard]] std::size_t count() const { return planes * height * width * inner; }
  [[nodiscard]] std::size_t rows() const { return (height + 7) / 8; }  // of tiles, whole or not
  [[nodiscard]] std::size_t columns() const { return (width + 7) / 8; }
  [[nodiscard]] std::size_t tiles() const { return planes * rows() * columns() * inner; }
};

// Equal tiles, a part of the maps; in this order they are coded: plane by plane, row by row, column by column, and with
// channels_last channel by channel. Offsets and strides in elements.
struct TileGrid {
  std::size_t first_plane, planes, rows, columns, inner, channels;
  std::size_t first, plane_stride, row_stride, column_stride;
  std::size_t line_stride;  // from a line of elements to the next
  int height, width;        // of a tile, 1 to 8
};

// Fixed point for each channel: a code is rint(x * inverse), clipped to -128..127; a value is code * scale. The largest
// magnitude is 144 codes (1.125 of what they can hold), so what is above 88 % of it is clipped, and all else finer.
// Both are 0 for a channel of zeros, or of values so small that inverse is infinite; NaN and 0 for one that holds NaN
// or Inf, of which nothing is coded. Returns whether there is none of these.
bool jpeg_act_scales(const void* x, Element element, const MapShape& shape, float* scales, float* inverse,
                     int num_threads);

// Tiles in zero-value coding: a mask each, the codes that these say are not 0, and how many codes each piece has.
struct ZvcTiles {
  const std::uint64_t* masks;
  const std::int64_t* counts;
  const std::uint8_t* codes;
};

// Codes all maps; masks: one a tile. counts: the codes of each of jpeg_act_pieces(shape) pieces. Returns the number of
// codes, which wait in the workspace of this thread. Throws std::bad_alloc.
std::size_t jpeg_act_pieces(const MapShape& shape);
std::size_t jpeg_act_encode(const void* x, Element element, const MapShape& shape, const float* inverse,
                            const JpegActTables& tables, std::uint64_t* masks, std::int64_t* counts, int num_threads);
void jpeg_act_gather(const MapShape& shape, const std::int64_t* counts, std::uint8_t* codes, int num_threads);

// False when masks, counts and the number of codes disagree; x is undefined then.
bool jpeg_act_decode(const ZvcTiles& tiles, std::size_t num_codes, Element element, const MapShape& shape,
                     const float* scales, const JpegActTables& tables, void* x, int num_threads);

struct JpegActKernels {
  // Codes the tiles of a grid; x is the whole array of `count` elements, inverse[c] the factor of channel c or 0 where
  // nothing is to be coded. Returns the number of codes; up to 64 bytes behind the last one change.
  std::size_t (*encode)(const void* x, std::size_t count, const TileGrid& grid, const float* inverse,
                        const JpegActTables& tables, std::uint64_t* masks, std::uint8_t* codes);
  // The reverse. Returns the number of codes read, or more than `num_codes` when masks ask for more than there are, of
  // which none is read. `readable`: bytes from `codes` on that can be read, num_codes or more.
  std::size_t (*decode)(const std::uint64_t* masks, const std::uint8_t* codes, std::size_t num_codes,
                        std::size_t readable, const TileGrid& grid, const float* scales, const JpegActTables& tables,
                        void* x);
};
struct JpegActKernelsOfElements {
  JpegActKernels of[3];  // by Element
};
HALFBYTE_DECLARE_KERNELS(JpegActKernelsOfElements, jpeg_act_plane_kernels)    // inner = 1
HALFBYTE_DECLARE_KERNELS(JpegActKernelsOfElements, jpeg_act_channel_kernels)  // channels_last

}  // namespace halfbyte::tensor
