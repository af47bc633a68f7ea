#include "tensor/dct.hpp"
#include "tensor/jpeg_act.hpp"
#include "tensor/jpeg_act_strips.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// Elements to fetch ahead: tiles go through memory line by line of eight short ones, which hardware does not foresee.
constexpr std::size_t kAhead = 2048;

// Goes from tile to tile of a grid.
class Walk {
 public:
  explicit Walk(const TileGrid& grid)
      : grid_(grid), offset_(grid.first), channel_(grid.first_plane % grid.channels) {}

  [[nodiscard]] std::size_t offset() const { return offset_; }
  [[nodiscard]] std::size_t channel() const { return channel_; }

  void next() {
    offset_ += grid_.column_stride;
    if (++column_ < grid_.columns) return;
    column_ = 0;
    offset_ += grid_.row_stride - grid_.columns * grid_.column_stride;
    if (++row_ < grid_.rows) return;
    row_ = 0;
    offset_ += grid_.plane_stride - grid_.rows * grid_.row_stride;
    if (++channel_ == grid_.channels) channel_ = 0;
  }

 private:
  TileGrid grid_;
  std::size_t offset_, channel_;
  std::size_t column_ = 0, row_ = 0;
};

// Of as many tiles as a strip has lines of. Where the grid has no more, the last one repeats.
template <class T>
struct Tiles {
  T* begin[kTiles];
  float factor[kTiles];
  std::size_t line_stride;
};

// Lines are read eight elements at a time, whatever the tile's width, so something must follow the last one. At the end
// of the array, tiles are copied to where something does.
template <class T>
void copy_short(Tiles<const T>& tiles, const TileGrid& grid, T (*room)[8][8]) {
  for (std::size_t k = 0; k < kTiles; ++k) {
    for (std::size_t i = 0; i < static_cast<std::size_t>(grid.height); ++i) {
      std::memcpy(room[k][i], tiles.begin[k] + i * tiles.line_stride, static_cast<std::size_t>(grid.width) * sizeof(T));
    }
    tiles.begin[k] = room[k][0];
  }
  tiles.line_stride = 8;
}

template <bool kWhole, Rounding kRounding, class T>
[[gnu::always_inline]] inline void encode_tiles(Tiles<const T>& tiles, const TileGrid& grid,
                                                const JpegActTables& tables, Codes* codes) {
  const int height = kWhole ? 8 : grid.height, width = kWhole ? 8 : grid.width;
  const float* const forward = tables.forward[height == 8][width == 8];
  const Strip factor = of_tiles(tiles.factor), zero = factor - factor;
  Strip s[8];
  for (int i = 0; i < height; ++i) {
    for (std::size_t k = 0; k < kTiles; k += 2) __builtin_prefetch(tiles.begin[k] + kAhead);
    s[i] = fixed_point(load_strip(tiles.begin), factor);
    for (const T*& line : tiles.begin) line += tiles.line_stride;
  }
  for (int i = height; i < 8; ++i) s[i] = zero;
  kWhole ? forward_dct8(s) : forward_dct(s, height, tables.basis);
  transpose(s);
  kWhole ? forward_dct8(s) : forward_dct(s, width, tables.basis);
  for (int i = 0; i < width; ++i) {
    s[i] = quotient<kRounding>(s[i], of_columns(forward + 8 * i), of_columns(tables.bias + 8 * i),
                               of_columns(tables.reciprocal + 8 * i));
  }
  for (int i = width; i < 8; ++i) s[i] = zero;
  pack(s, codes);
}

template <bool kWhole, Rounding kRounding, class T>
std::size_t encode_grid(const T* x, std::size_t count, const TileGrid& given, const float* inverse,
                        const JpegActTables& tables, std::uint64_t* masks, std::uint8_t* out) {
  std::uint8_t* const begin = out;
  const TileGrid grid = given;  // a copy, since codes could be written over the given one for all a compiler knows
  const std::size_t reach = static_cast<std::size_t>(grid.height - 1) * grid.line_stride + 8;
  Walk at(grid);
  for (std::size_t i = 0, n = grid.planes * grid.rows * grid.columns; i < n; i += kTiles) {
    T room[kTiles][8][8];
    Tiles<const T> tiles{.begin = {}, .factor = {}, .line_stride = grid.line_stride};
    bool is_last = false;
    for (std::size_t k = 0; k < kTiles; ++k) {
      tiles.begin[k] = x + at.offset();
      tiles.factor[k] = inverse[at.channel()];
      is_last = at.offset() + reach > count;
      if (i + k + 1 < n) at.next();
    }
    if (!kWhole && is_last) copy_short(tiles, grid, room);
    Codes codes[kTiles];
    encode_tiles<kWhole, kRounding>(tiles, grid, tables, codes);
    for (std::size_t k = 0; k < kTiles && i + k < n; ++k) {
      const std::uint64_t mask = tiles.factor[k] == 0 ? 0 : nonzero(codes[k]);
      masks[i + k] = mask;
      out += compress(mask, codes[k], out);
    }
  }
  return static_cast<std::size_t>(out - begin);
}

template <class T>
std::size_t encode(const void* x, std::size_t count, const TileGrid& grid, const float* inverse,
                   const JpegActTables& tables, std::uint64_t* masks, std::uint8_t* codes) {
  constexpr auto kTruncate = Rounding::truncate, kNearest = Rounding::nearest;
  const auto truncate = is_whole(grid) ? encode_grid<true, kTruncate, T> : encode_grid<false, kTruncate, T>;
  const auto nearest = is_whole(grid) ? encode_grid<true, kNearest, T> : encode_grid<false, kNearest, T>;
  const auto run = tables.rounding == kTruncate ? truncate : nearest;
  return run(static_cast<const T*>(x), count, grid, inverse, tables, masks, codes);
}

template <bool kWhole, class T>
[[gnu::always_inline]] inline void decode_tiles(const Codes* codes, const TileGrid& grid, const JpegActTables& tables,
                                                Tiles<T>& tiles) {
  const int height = kWhole ? 8 : grid.height, width = kWhole ? 8 : grid.width;
  const float* const inverse = tables.inverse[height == 8][width == 8];
  Strip s[8];
  unpack(codes, s);
  for (int i = 0; i < 8; ++i) s[i] = s[i] * of_columns(inverse + 8 * i);
  kWhole ? inverse_dct8(s) : inverse_dct(s, width, tables.basis);
  transpose(s);
  kWhole ? inverse_dct8(s) : inverse_dct(s, height, tables.basis);
  const Strip factor = of_tiles(tiles.factor);
  for (int i = 0; i < height; ++i) {
    store_strip(tiles.begin, rounded(s[i]) * factor, width);
    for (T*& line : tiles.begin) line += tiles.line_stride;
  }
}

template <bool kWhole, class T>
std::size_t decode_grid(const std::uint64_t* masks, const std::uint8_t* codes, std::size_t num_codes,
                        std::size_t readable, const TileGrid& given, const float* scales, const JpegActTables& tables,
                        T* x) {
  const TileGrid grid = given;
  std::size_t used = 0;
  Walk at(grid);
  for (std::size_t i = 0, n = grid.planes * grid.rows * grid.columns; i < n; i += kTiles) {
    Tiles<T> tiles{.begin = {}, .factor = {}, .line_stride = grid.line_stride};
    Codes expanded[kTiles];
    for (std::size_t k = 0; k < kTiles; ++k) {
      tiles.begin[k] = x + at.offset();
      tiles.factor[k] = scales[at.channel()];
      if (i + k >= n) {
        expanded[k] = expanded[k - 1];
        continue;
      }
      const auto kept = static_cast<std::size_t>(__builtin_popcountll(masks[i + k]));
      if (kept > num_codes - used) return num_codes + 1;
      expanded[k] = expand(masks[i + k], codes + used, readable - used);
      used += kept;
      if (i + k + 1 < n) at.next();
    }
    decode_tiles<kWhole>(expanded, grid, tables, tiles);
  }
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

const JpegActKernelsOfElements jpeg_act_plane_kernels = {
    .of = {kernels_of<float>(), kernels_of<BFloat16>(), kernels_of<Float16>()}};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
