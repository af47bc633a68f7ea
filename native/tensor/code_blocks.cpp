#include "tensor/code_blocks.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <vector>

#include "tensor/pieces.hpp"

namespace halfbyte::tensor {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::size_t kMaskBytes = kCodeBlock / 8;
constexpr unsigned kMostWidth = kCodeWidths - 1;

struct Block {
  std::uint64_t mask;
  unsigned width;
  std::uint8_t places[kCodeBlock];  // from 0 up; of zeros, anything
};

template <bool kSigns>
Block block_of(const std::int16_t* codes, std::size_t length) {
  std::int16_t whole[kCodeBlock] = {};
  std::memcpy(whole, codes, length * sizeof *codes);
  Block block{};
  unsigned largest = 0;  // 1 + the largest place, or 0
  for (std::size_t i = 0; i < kCodeBlock; ++i) {
    const int code = whole[i];
    const int above = kSigns ? 2 * (code < 0 ? -code : code) - (code > 0) : code;  // 1 + the place
    largest = std::max(largest, static_cast<unsigned>(above) & 0x1ff);
    block.places[i] = static_cast<std::uint8_t>(above - 1);
  }
  for (std::size_t i = 0; i < kCodeBlock; ++i) block.mask |= std::uint64_t{whole[i] != 0} << i;
  if (block.mask != 0) block.width = std::min(kMostWidth, 1 + static_cast<unsigned>(std::bit_width(largest - 1)));
  return block;
}

// work(block, index) for each block of a piece that is not all zeros.
template <bool kSigns, class Work>
void for_blocks(const std::int16_t* codes, std::size_t length, const Work& work) {
  for (std::size_t i = 0; i < length; i += kCodeBlock) {
    const Block block = block_of<kSigns>(codes + i, std::min(kCodeBlock, length - i));
    if (block.mask != 0) work(block, i / kCodeBlock);
  }
}

void set_width(std::uint8_t* widths, std::size_t block, unsigned width) {
  widths[block / 2] = static_cast<std::uint8_t>(widths[block / 2] | width << (4 * (block % 2)));
}

unsigned width_of(const std::uint8_t* widths, std::size_t block) { return widths[block / 2] >> (4 * (block % 2)) & 15; }

std::uint64_t mask_at(const std::uint8_t* masks, std::size_t block) {
  std::uint64_t mask;
  std::memcpy(&mask, masks + kMaskBytes * block, sizeof mask);
  return mask;
}

// Where the parts of a piece begin.
struct Start {
  std::size_t filled = 0;              // blocks before that are not all zeros
  std::size_t bits[kCodeWidths] = {};  // of codes, by width
};

struct Layout {
  std::vector<Start> starts;
  CodeBlockBytes bytes{};
};

Layout layout_of(const CodeCounts* counts, std::size_t pieces) {
  Layout layout{.starts = std::vector<Start>(pieces)};
  Start next;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    layout.starts[piece].filled = next.filled;
    next.filled += static_cast<std::size_t>(counts[piece][0]);
  }
  std::size_t bit = 0;
  for (std::size_t width = 1; width < kCodeWidths; ++width) {
    for (std::size_t piece = 0; piece < pieces; ++piece) {
      layout.starts[piece].bits[width] = bit;
      bit += static_cast<std::size_t>(counts[piece][width]) * (width - 1);
    }
    bit = (bit + 7) / 8 * 8;
  }
  layout.bytes = {.masks = next.filled * kMaskBytes, .codes = bit / 8};
  return layout;
}

// Puts bits, lowest first, where zeros are. The first byte and the last may be others' too.
class BitsAmongOthers {
 public:
  BitsAmongOthers() = default;
  BitsAmongOthers(std::uint8_t* packed, std::size_t bit) : out_(packed + bit / 8), count_(bit % 8) {}

  // The lowest `count` <= 8 bits.
  void put(std::uint8_t bits, unsigned count) {
    waiting_ |= (std::uint64_t{bits} & ((1U << count) - 1)) << count_;
    count_ += count;
    if (count_ < 32) return;
    const auto word = static_cast<std::uint32_t>(waiting_);
    if (is_first_) {
      for (int i = 0; i < 4; ++i) add(out_[i], static_cast<std::uint8_t>(word >> (8 * i)));
      is_first_ = false;
    } else {
      std::memcpy(out_, &word, sizeof word);
    }
    out_ += sizeof word;
    waiting_ >>= 32;
    count_ -= 32;
  }

  void finish() {
    for (; waiting_ != 0; waiting_ >>= 8) add(*out_++, static_cast<std::uint8_t>(waiting_));
  }

 private:
  static void add(std::uint8_t& byte, std::uint8_t bits) {
    std::atomic_ref(byte).fetch_or(bits, std::memory_order_relaxed);
  }

  std::uint8_t* out_ = nullptr;
  std::uint64_t waiting_ = 0;
  std::size_t count_ = 0;
  bool is_first_ = true;
};

template <bool kSigns>
void write_piece(const std::int16_t* codes, std::size_t length, const Start& start, std::uint8_t* masks,
                 std::uint8_t* packed) {
  BitsAmongOthers out[kCodeWidths];
  for (std::size_t width = 2; width < kCodeWidths; ++width) out[width] = {packed, start.bits[width]};
  masks += kMaskBytes * start.filled;
  for_blocks<kSigns>(codes, length, [&](const Block& block, std::size_t) {
    std::memcpy(masks, &block.mask, kMaskBytes);
    masks += kMaskBytes;
    if (block.width == 1) return;
    BitsAmongOthers bits = out[block.width];
    for (std::uint64_t mask = block.mask; mask != 0; mask &= mask - 1) {
      bits.put(block.places[std::countr_zero(mask)], block.width - 1);
    }
    out[block.width] = bits;
  });
  for (BitsAmongOthers& bits : out) bits.finish();
}

// The code of a place.
template <bool kSigns>
std::int16_t code_at(unsigned place) {
  if (!kSigns) return static_cast<std::int16_t>(place + 1);
  const int magnitude = static_cast<int>(place / 2) + 1;
  return static_cast<std::int16_t>(place % 2 == 0 ? magnitude : -magnitude);
}

template <bool kSigns>
void read_block(const std::uint8_t* packed, std::size_t& bit, std::uint64_t mask, unsigned width, std::int16_t* codes) {
  const unsigned bits = width - 1;
  for (; mask != 0; mask &= mask - 1) {
    unsigned place = 0;
    if (bits > 0) {
      const std::uint8_t* byte = packed + bit / 8;
      place = *byte >> bit % 8;
      if (bit % 8 + bits > 8) place |= static_cast<unsigned>(byte[1]) << (8 - bit % 8);
      place &= (1U << bits) - 1;
      bit += bits;
    }
    codes[std::countr_zero(mask)] = code_at<kSigns>(place);
  }
}

template <bool kSigns>
void read_piece(const std::uint8_t* widths, const std::uint8_t* masks, const std::uint8_t* packed, Start start,
                std::size_t length, std::int16_t* codes) {
  std::memset(codes, 0, length * sizeof *codes);
  for (std::size_t block = 0; block < num_code_blocks(length); ++block) {
    const unsigned width = width_of(widths, block);
    if (width == 0) continue;
    const std::uint64_t mask = mask_at(masks, start.filled++);
    read_block<kSigns>(packed, start.bits[width], mask, width, codes + kCodeBlock * block);
  }
}

// Blocks of a piece that are not all zeros, or nothing where a width is too large.
bool count_filled(const std::uint8_t* widths, std::size_t length, CodeCounts& counts) {
  counts = {};
  unsigned largest = 0;
  for (std::size_t block = 0; block < num_code_blocks(length); ++block) {
    const unsigned width = width_of(widths, block);
    largest = std::max(largest, width);
    counts[0] += width != 0;
  }
  return largest <= kMostWidth;
}

// The codes of a piece that are not 0, by width. Returns whether the masks fit.
bool count_codes(const std::uint8_t* widths, const std::uint8_t* masks, std::size_t filled, std::size_t length,
                 CodeCounts& counts) {
  bool fits = true;
  for (std::size_t block = 0; block < num_code_blocks(length); ++block) {
    const unsigned width = width_of(widths, block);
    if (width == 0) continue;
    const std::uint64_t mask = mask_at(masks, filled++);
    const std::size_t here = std::min(kCodeBlock, length - kCodeBlock * block);
    fits &= mask != 0 && (here == kCodeBlock || mask >> here == 0);
    counts[width] += std::popcount(mask);
  }
  return fits;
}

}  // namespace

CodeBlockBytes measure_code_blocks(const std::int16_t* codes, std::size_t count, bool has_signs, std::uint8_t* widths,
                                   CodeCounts* counts, int num_threads) {
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    CodeCounts& here = counts[first / kPiece] = {};
    std::uint8_t* const own = widths == nullptr ? nullptr : widths + first / kCodeBlock / 2;
    if (own != nullptr) std::memset(own, 0, (num_code_blocks(length) + 1) / 2);
    const auto measure = [&](const Block& block, std::size_t index) {
      ++here[0];
      here[block.width] += std::popcount(block.mask);
      if (own != nullptr) set_width(own, index, block.width);
    };
    has_signs ? for_blocks<true>(codes + first, length, measure) : for_blocks<false>(codes + first, length, measure);
  });
  return layout_of(counts, num_pieces(count)).bytes;
}

void write_code_blocks(const std::int16_t* codes, std::size_t count, bool has_signs, const CodeCounts* counts,
                       std::uint8_t* masks, std::uint8_t* packed, int num_threads) {
  const Layout layout = layout_of(counts, num_pieces(count));
  const auto write = has_signs ? write_piece<true> : write_piece<false>;
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    write(codes + first, length, layout.starts[first / kPiece], masks, packed);
  });
}

CodeBlockFault check_code_blocks(const std::uint8_t* widths, const std::uint8_t* masks, CodeBlockBytes bytes,
                                 std::size_t count, CodeCounts* counts, int num_threads) {
  std::atomic<bool> sound = true;
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    if (!count_filled(widths + first / kCodeBlock / 2, length, counts[first / kPiece])) sound = false;
  });
  if (!sound) return CodeBlockFault::width;
  const Layout before = layout_of(counts, num_pieces(count));  // of masks; codes are not counted yet
  if (before.bytes.masks != bytes.masks) return CodeBlockFault::masks;
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    const std::size_t piece = first / kPiece;
    if (!count_codes(widths + first / kCodeBlock / 2, masks, before.starts[piece].filled, length, counts[piece])) {
      sound = false;
    }
  });
  if (!sound) return CodeBlockFault::fit;
  const bool has_all = layout_of(counts, num_pieces(count)).bytes.codes == bytes.codes;
  return has_all ? CodeBlockFault::none : CodeBlockFault::codes;
}

void read_code_blocks(const std::uint8_t* widths, const std::uint8_t* masks, const std::uint8_t* packed,
                      const CodeCounts* counts, std::size_t count, bool has_signs, std::int16_t* codes,
                      int num_threads) {
  const Layout layout = layout_of(counts, num_pieces(count));
  const auto read = has_signs ? read_piece<true> : read_piece<false>;
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    read(widths + first / kCodeBlock / 2, masks, packed, layout.starts[first / kPiece], length, codes + first);
  });
}

}  // namespace halfbyte::tensor
