#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <optional>
#include <vector>

#include "jpeg/huffman.hpp"
#include "tensor/bits.hpp"
#include "tensor/jpeg_act_pieces.hpp"
#include "tensor/jpeg_act_rle.hpp"
#include "tensor/parallel.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::uint8_t kSixteenZeros = 0xF0, kEndOfTile = 0;
constexpr unsigned kFastBits = 11;  // symbols of longer codes are rare, and searched for

// What the next 16 bits begin with.
class SymbolTable {
 public:
  struct Entry {
    std::uint8_t symbol = 0;
    std::uint8_t length = 0;  // 0: no code
  };

  explicit SymbolTable(const jpeg::HuffmanCode& code) : symbols_(code.symbols) {
    std::uint32_t next = 0;  // code, shifted to 16 bits
    unsigned index = 0;
    for (unsigned length = 1; length <= 16; ++length) {
      first_[length] = index - (next >> (16 - length));
      for (unsigned n = 0; n < code.counts[length]; ++n, ++index, next += 1U << (16 - length)) {
        if (length > kFastBits) continue;
        const auto begin = fast_.begin() + (next >> (16 - kFastBits));
        std::fill(begin, begin + (1 << (kFastBits - length)),
                  Entry{code.symbols[index], static_cast<std::uint8_t>(length)});
      }
      limit_[length] = next;
    }
  }

  [[nodiscard]] Entry operator[](std::uint32_t sixteen_bits) const {
    const Entry entry = fast_[sixteen_bits >> (16 - kFastBits)];
    return entry.length != 0 ? entry : search(sixteen_bits);
  }

 private:
  [[nodiscard]] Entry search(std::uint32_t sixteen_bits) const {
    for (unsigned length = kFastBits + 1; length <= 16; ++length) {
      if (sixteen_bits >= limit_[length]) continue;
      const std::uint32_t index = first_[length] + (sixteen_bits >> (16 - length));
      return {symbols_[index], static_cast<std::uint8_t>(length)};
    }
    return {};
  }

  std::array<Entry, 1 << kFastBits> fast_{};
  std::array<std::uint8_t, 256> symbols_;
  std::array<std::uint32_t, 17> limit_{};  // all codes of at most this length are below, as 16 bits
  std::array<std::uint32_t, 17> first_{};  // index of the symbol of code 0 of this length; wraps
};

// The value whose bits, `size` > 0 of them, are the highest of these (T.81, F.2.2.1); below 0 when the first is 0.
int value_of(std::uint64_t bits, unsigned size) {
  const int negative = static_cast<int>(bits >> 63) - 1;  // all ones, or 0; signs are no branch to predict
  return static_cast<int>(bits >> (64 - size)) - (negative & ((1 << size) - 1));
}

// Reads one tile: its codes to `codes`, of which there are at most `room`. Nothing when that is not what is there.
std::optional<std::uint64_t> read_tile(const SymbolTable& table, BitReader& reader, std::uint8_t* codes,
                                       std::size_t room) {
  BitReader in = reader;  // a local one stays in registers, whatever codes are written
  std::uint64_t mask = 0;
  for (unsigned place = 0; place < 64; ++place) {
    in.refill();
    const std::uint64_t bits = in.peek();
    const SymbolTable::Entry entry = table[static_cast<std::uint32_t>(bits >> 48)];
    const unsigned zeros = entry.symbol / 16, size = entry.symbol % 16;
    in.take(entry.length + size);
    place += zeros;
    if (size == 0) {
      if (entry.length != 0 && entry.symbol == kEndOfTile) break;
      if (entry.symbol == kSixteenZeros && place < 63) continue;  // and a code follows
      return std::nullopt;
    }
    const int value = value_of(bits << entry.length, size);
    if (place > 63 || room-- == 0 || value < -128 || value > 127) return std::nullopt;
    *codes++ = static_cast<std::uint8_t>(value);
    mask |= std::uint64_t{1} << place;
  }
  reader = in;
  return in.is_over() ? std::nullopt : std::optional(mask);
}

// Reads the tiles of one piece, which together have as many codes as there is room for.
bool read_tiles(const SymbolTable& table, std::span<const std::uint8_t> bytes, std::span<std::uint8_t> codes,
                std::span<std::uint64_t> masks) {
  BitReader reader(bytes.data(), bytes.size());
  std::size_t used = 0;
  for (std::uint64_t& mask_of_tile : masks) {
    const auto mask = read_tile(table, reader, codes.data() + used, codes.size() - used);
    if (!mask) return false;
    mask_of_tile = *mask;
    used += static_cast<std::size_t>(std::popcount(*mask));
  }
  return used == codes.size() && reader.is_in_last_byte();
}

}  // namespace

bool jpeg_act_rle_read(const MapShape& shape, std::span<const std::uint8_t> bytes, const std::int64_t* byte_counts,
                       std::span<const std::uint8_t, 256> lengths, const std::int64_t* counts, std::size_t num_codes,
                       std::uint64_t* masks, std::uint8_t* codes, int num_threads) {
  const Pieces pieces(shape);
  const auto code = jpeg::canonical_code(lengths);
  const auto byte_begins = begins_within(byte_counts, pieces.count(), bytes.size());
  const auto begins = begins_within(counts, pieces.count(), num_codes);
  if (!code || !byte_begins || !begins) return false;
  const SymbolTable table(*code);
  std::atomic<bool> sound{true};
  parallel_for(num_threads, pieces.count(), [&](std::size_t i) {
    const Piece piece = pieces[i];
    const bool read = read_tiles(table, bytes.subspan((*byte_begins)[i], static_cast<std::size_t>(byte_counts[i])),
                                 {codes + (*begins)[i], static_cast<std::size_t>(counts[i])},
                                 {masks + piece.first_tile, piece.tiles});
    if (!read) sound.store(false, std::memory_order_relaxed);
  });
  return sound.load(std::memory_order_relaxed);
}

}  // namespace halfbyte::tensor
