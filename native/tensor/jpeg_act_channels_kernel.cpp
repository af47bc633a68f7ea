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

// Of `n` channels from `channel` on.
struct Group {
  std::size_t channel, n;
};

// each(group): all channels, as many at a time as there are lanes.
template <class Each>
void for_groups(std::size_t channels, Each each) {
  for (std::size_t c = 0; c < channels; c += kLanes) each(Group{c, channels - c < kLanes ? channels - c : kLanes});
}

// Element (line, column) of a tile.
std::size_t place(const TileGrid& grid, int line, int column) {
  return static_cast<std::size_t>(line) * grid.line_stride + static_cast<std::size_t>(column) * grid.inner;
}

template <class T>
Lanes load_group(const T* p, std::size_t n) {
  return n == kLanes ? load(p) : load_part(p, n);
}

template <class T>
void store_group(T* p, Lanes v, std::size_t n) {
  n == kLanes ? store(p, v) : store_part(p, v, n);
}

template <bool kWhole, Rounding kRounding, class T>
void encode_group(const T* x, std::size_t n, const TileGrid& grid, Lanes inverse, const JpegActTables& tables,
                  GroupCodes& codes) {
  const int height = kWhole ? 8 : grid.height, width = kWhole ? 8 : grid.width;
  const float* const forward = tables.forward[height == 8][width == 8];
  Lanes lines[8][8];
  for (int j = 0; j < width; ++j) {
    Lanes s[8];
    for (int i = 0; i < height; ++i) {
      s[i] = fixed_point(load_group(x + place(grid, i, j), n), inverse);
    }
    kWhole ? forward_dct8(s) : forward_dct(s, height, tables.basis);
    for (int i = 0; i < height; ++i) lines[i][j] = s[i];
  }
  for (int i = 0; i < 8; ++i) {
    Lanes s[8];
    for (int j = 0; j < 8; ++j) s[j] = i < height && j < width ? lines[i][j] : splat(0);
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
    for_groups(grid.inner, [&](Group group) {
      const float* const factors = inverse + group.channel;
      const T* const first = x + offset + group.channel;
      GroupCodes codes;
      encode_group<kWhole, kRounding>(first, group.n, grid, load_group(factors, group.n), tables, codes);
      for (std::size_t c = 0; c < group.n; ++c) {
        const Codes tile = reordered<kRowsToZigzag>(by_channel(codes, c));
        *masks = factors[c] == 0 ? 0 : nonzero(tile);
        out += compress(*masks++, tile, out);
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

template <bool kWhole, class T>
void decode_group(GroupCodes& codes, std::size_t n, const TileGrid& grid, Lanes scale, const JpegActTables& tables,
                  T* x) {
  const int height = kWhole ? 8 : grid.height, width = kWhole ? 8 : grid.width;
  const float* const inverse = tables.inverse[height == 8][width == 8];
  to_lanes(codes);
  Lanes lines[8][8];
  for (int i = 0; i < height; ++i) {
    Lanes s[8];
    unpack_row(codes, i, s);
    for (int j = 0; j < width; ++j) s[j] = s[j] * splat(inverse[8 * j + i]);
    kWhole ? inverse_dct8(s) : inverse_dct(s, width, tables.basis);
    for (int j = 0; j < width; ++j) lines[i][j] = s[j];
  }
  for (int j = 0; j < width; ++j) {
    Lanes s[8];
    for (int i = 0; i < height; ++i) s[i] = lines[i][j];
    kWhole ? inverse_dct8(s) : inverse_dct(s, height, tables.basis);
    for (int i = 0; i < height; ++i) {
      store_group(x + place(grid, i, j), rounded(s[i]) * scale, n);
    }
  }
}

template <bool kWhole, class T>
std::size_t decode_grid(const std::uint64_t* masks, const std::uint8_t* codes, std::size_t num_codes,
                        std::size_t readable, const TileGrid& grid, const float* scales, const JpegActTables& tables,
                        T* x) {
  std::size_t used = 0;
  for_places(grid, [&](std::size_t offset) {
    for_groups(grid.inner, [&](Group group) {
      GroupCodes expanded{};
      for (std::size_t c = 0; c < group.n; ++c) {
        const std::uint64_t mask = used <= num_codes ? *masks++ : 0;
        const auto kept = static_cast<std::size_t>(__builtin_popcountll(mask));
        if (used > num_codes || kept > num_codes - used) {
          used = num_codes + 1;
          return;
        }
        set_channel(expanded, c, reordered<kZigzagToRows>(expand(mask, codes + used, readable - used)));
        used += kept;
      }
      decode_group<kWhole>(expanded, group.n, grid, load_group(scales + group.channel, group.n), tables,
                           x + offset + group.channel);
    });
  });
  return used;
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
