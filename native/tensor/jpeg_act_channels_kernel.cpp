#include "tensor/dct.hpp"
#include "tensor/jpeg_act.hpp"
#include "tensor/jpeg_act_groups.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// each(offset): the first element of each place of a tile in a grid, whose channels follow one another.
template <class Each>
void for_places(const TileGrid& grid, Each each) {
  for (std::size_t plane = 0; plane < grid.planes; ++plane) {
    for (std::size_t row = 0; row < grid.rows; ++row) {
      const std::size_t first = grid.first + plane * grid.plane_stride + row * grid.row_stride;
      for (std::size_t column = 0; column < grid.columns; ++column) each(first + column * grid.column_stride);
    }
  }
}

// Element (line, column) of a tile.
std::size_t place(const TileGrid& grid, int line, int column) {
  return static_cast<std::size_t>(line) * grid.line_stride + static_cast<std::size_t>(column) * grid.inner;
}

// As many channels as there are lanes, a group, are transformed together. Elements are read and written for a block of
// groups, column by column: memory foresees long runs along eight lines, but not the steps of a group.
constexpr std::size_t kGroups = 16;

// Of `channels` channels from `first` on, at most as many as kGroups have.
struct Block {
  std::size_t first, channels;

  [[nodiscard]] std::size_t groups() const { return (channels + kLanes - 1) / kLanes; }
  [[nodiscard]] std::size_t lanes_of(std::size_t group) const {
    const std::size_t left = channels - group * kLanes;
    return left < kLanes ? left : kLanes;
  }
};

// each(block): all channels.
template <class Each>
void for_blocks(std::size_t channels, Each each) {
  constexpr std::size_t kMost = kGroups * kLanes;
  for (std::size_t c = 0; c < channels; c += kMost) each(Block{c, channels - c < kMost ? channels - c : kMost});
}

// A group's tiles after one of the transforms: [line or vertical frequency][column].
using Half = Lanes[8][8];

template <class T>
Lanes load_group(const T* p, std::size_t n) {
  return n == kLanes ? load(p) : load_part(p, n);
}

template <class T>
void store_group(T* p, Lanes v, std::size_t n) {
  n == kLanes ? store(p, v) : store_part(p, v, n);
}

template <bool kWhole, class T>
void encode_columns(const T* x, const Block& block, const TileGrid& grid, const float* inverse,
                    const JpegActTables& tables, Half* halves) {
  const int height = kWhole ? 8 : grid.height, width = kWhole ? 8 : grid.width;
  Lanes factors[kGroups];
  for (std::size_t g = 0; g < block.groups(); ++g) factors[g] = load_group(inverse + g * kLanes, block.lanes_of(g));
  for (int j = 0; j < width; ++j) {
    for (std::size_t g = 0; g < block.groups(); ++g) {
      const T* const first = x + place(grid, 0, j) + g * kLanes;
      Lanes s[8];
      for (int i = 0; i < height; ++i) {
        s[i] = fixed_point(load_group(first + place(grid, i, 0), block.lanes_of(g)), factors[g]);
      }
      kWhole ? forward_dct8(s) : forward_dct(s, height, tables.basis);
      for (int i = 0; i < height; ++i) halves[g][i][j] = s[i];
    }
  }
}

template <bool kWhole, Rounding kRounding>
void encode_lines(const Half& half, const TileGrid& grid, const JpegActTables& tables, GroupCodes& codes) {
  const int height = kWhole ? 8 : grid.height, width = kWhole ? 8 : grid.width;
  const float* const forward = tables.forward[height == 8][width == 8];
  for (int i = 0; i < 8; ++i) {
    Lanes s[8];
    for (int j = 0; j < 8; ++j) s[j] = i < height && j < width ? half[i][j] : splat(0);
    kWhole ? forward_dct8(s) : forward_dct(s, width, tables.basis);
    for (int j = 0; j < width; ++j) {
      const int k = 8 * j + i;
      s[j] = quotient<kRounding>(s[j], splat(forward[k]), splat(tables.bias[k]), splat(tables.reciprocal[k]));
    }
    pack_row(s, i, codes);
  }
  to_channels(codes);
}

template <bool kWhole, Rounding kRounding, class T>
std::size_t encode_grid(const T* x, const TileGrid& grid, const float* inverse, const JpegActTables& tables,
                        std::uint64_t* masks, std::uint8_t* out) {
  std::uint8_t* const begin = out;
  for_places(grid, [&](std::size_t offset) {
    for_blocks(grid.inner, [&](Block block) {
      const float* const factors = inverse + block.first;
      Half halves[kGroups];
      encode_columns<kWhole>(x + offset + block.first, block, grid, factors, tables, halves);
      for (std::size_t g = 0; g < block.groups(); ++g) {
        GroupCodes codes;
        encode_lines<kWhole, kRounding>(halves[g], grid, tables, codes);
        for (std::size_t c = 0; c < block.lanes_of(g); ++c) {
          const Codes tile = reordered<kRowsToZigzag>(by_channel(codes, c));
          *masks = factors[g * kLanes + c] == 0 ? 0 : nonzero(tile);
          out += compress(*masks++, tile, out);
        }
      }
    });
  });
  return static_cast<std::size_t>(out - begin);
}

template <class T>
std::size_t encode(const void* x, std::size_t /*count*/, const TileGrid& grid, const float* inverse,
                   const JpegActTables& tables, std::uint64_t* masks, std::uint8_t* codes) {
  constexpr auto kTruncate = Rounding::truncate, kNearest = Rounding::nearest;
  const auto truncate = is_whole(grid) ? encode_grid<true, kTruncate, T> : encode_grid<false, kTruncate, T>;
  const auto nearest = is_whole(grid) ? encode_grid<true, kNearest, T> : encode_grid<false, kNearest, T>;
  const auto run = tables.rounding == kTruncate ? truncate : nearest;
  return run(static_cast<const T*>(x), grid, inverse, tables, masks, codes);
}

template <bool kWhole>
void decode_lines(GroupCodes& codes, const TileGrid& grid, const JpegActTables& tables, Half& half) {
  const int height = kWhole ? 8 : grid.height, width = kWhole ? 8 : grid.width;
  const float* const inverse = tables.inverse[height == 8][width == 8];
  to_lanes(codes);
  for (int i = 0; i < height; ++i) {
    Lanes s[8];
    unpack_row(codes, i, s);
    for (int j = 0; j < width; ++j) s[j] = s[j] * splat(inverse[8 * j + i]);
    kWhole ? inverse_dct8(s) : inverse_dct(s, width, tables.basis);
    for (int j = 0; j < width; ++j) half[i][j] = s[j];
  }
}

template <bool kWhole, class T>
void decode_columns(const Half* halves, const Block& block, const TileGrid& grid, const float* scales,
                    const JpegActTables& tables, T* x) {
  const int height = kWhole ? 8 : grid.height, width = kWhole ? 8 : grid.width;
  Lanes factors[kGroups];
  for (std::size_t g = 0; g < block.groups(); ++g) factors[g] = load_group(scales + g * kLanes, block.lanes_of(g));
  for (int j = 0; j < width; ++j) {
    for (std::size_t g = 0; g < block.groups(); ++g) {
      T* const first = x + place(grid, 0, j) + g * kLanes;
      Lanes s[8];
      for (int i = 0; i < height; ++i) s[i] = halves[g][i][j];
      kWhole ? inverse_dct8(s) : inverse_dct(s, height, tables.basis);
      for (int i = 0; i < height; ++i) {
        store_group(first + place(grid, i, 0), rounded(s[i]) * factors[g], block.lanes_of(g));
      }
    }
  }
}

// Codes of one piece, taken one tile after the other.
class Reader {
 public:
  Reader(const std::uint64_t* masks, const std::uint8_t* codes, std::size_t num_codes, std::size_t readable)
      : masks_(masks), codes_(codes), num_codes_(num_codes), readable_(readable) {}

  // The next tiles, by channel. False when there are less codes than these should have.
  bool read(std::size_t tiles, GroupCodes& group) {
    for (std::size_t c = 0; c < tiles; ++c) {
      const auto kept = static_cast<std::size_t>(__builtin_popcountll(*masks_));
      if (kept > num_codes_ - used_) return false;
      set_channel(group, c, reordered<kZigzagToRows>(expand(*masks_++, codes_ + used_, readable_ - used_)));
      used_ += kept;
    }
    return true;
  }

  [[nodiscard]] std::size_t used() const { return used_; }

 private:
  const std::uint64_t* masks_;
  const std::uint8_t* codes_;
  std::size_t num_codes_, readable_;
  std::size_t used_ = 0;
};

template <bool kWhole, class T>
std::size_t decode_grid(const std::uint64_t* masks, const std::uint8_t* codes, std::size_t num_codes,
                        std::size_t readable, const TileGrid& grid, const float* scales, const JpegActTables& tables,
                        T* x) {
  Reader reader(masks, codes, num_codes, readable);
  bool sound = true;
  for_places(grid, [&](std::size_t offset) {
    for_blocks(grid.inner, [&](Block block) {
      Half halves[kGroups];
      for (std::size_t g = 0; sound && g < block.groups(); ++g) {
        GroupCodes group{};
        sound = reader.read(block.lanes_of(g), group);
        decode_lines<kWhole>(group, grid, tables, halves[g]);
      }
      if (sound) {
        decode_columns<kWhole>(halves, block, grid, scales + block.first, tables, x + offset + block.first);
      }
    });
  });
  return sound ? reader.used() : num_codes + 1;
}

template <class T>
std::size_t decode(const std::uint64_t* masks, const std::uint8_t* codes, std::size_t num_codes, std::size_t readable,
                   const TileGrid& grid, const float* scales, const JpegActTables& tables, void* x) {
  const auto run = is_whole(grid) ? decode_grid<true, T> : decode_grid<false, T>;
  return run(masks, codes, num_codes, readable, grid, scales, tables, static_cast<T*>(x));
}

template <class T>
constexpr JpegActKernels kernels_of() {
  return {.encode = encode<T>, .decode = decode<T>};
}

}  // namespace

const JpegActKernelsOfElements jpeg_act_channel_kernels = {
    .of = {kernels_of<float>(), kernels_of<BFloat16>(), kernels_of<Float16>()}};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
