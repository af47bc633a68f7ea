#include "tensor/jpeg_act_rle.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <limits>
#include <numeric>
#include <vector>

#include "jpeg/huffman.hpp"
#include "tensor/bits.hpp"
#include "tensor/jpeg_act_pieces.hpp"
#include "tensor/parallel.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::uint8_t kSixteenZeros = 0xF0, kEndOfTile = 0;

using Histogram = std::array<std::uint32_t, 256>;  // a piece has less than 2^32 symbols

// put(symbol, value): what a tile is spelled with; returns the number of its codes.
template <class Put>
std::size_t spell(std::uint64_t mask, const std::uint8_t* codes, const Put& put) {
  std::size_t used = 0;
  int next = 0;
  for (; mask != 0; mask &= mask - 1) {
    const int place = std::countr_zero(mask);
    int zeros = place - next;
    for (; zeros >= 16; zeros -= 16) put(kSixteenZeros, 0);
    const int value = static_cast<std::int8_t>(codes[used++]);
    put(static_cast<std::uint8_t>(zeros << 4 | std::bit_width(static_cast<unsigned>(std::abs(value)))), value);
    next = place + 1;
  }
  if (next < 64) put(kEndOfTile, 0);
  return used;
}

template <class Put>
void spell_piece(const Piece& piece, const std::uint64_t* masks, const std::uint8_t* codes, const Put& put) {
  for (std::size_t i = 0; i < piece.tiles; ++i) codes += spell(masks[piece.first_tile + i], codes, put);
}

jpeg::HuffmanCode best_code(const std::vector<Histogram>& pieces) {
  std::array<std::uint64_t, 256> sums{};
  for (const Histogram& piece : pieces) {
    for (std::size_t s = 0; s < 256; ++s) sums[s] += piece[s];
  }
  int shift = 0;  // until frequencies fit
  while (*std::max_element(sums.begin(), sums.end()) >> shift > std::numeric_limits<std::uint32_t>::max()) ++shift;
  Histogram frequencies;
  for (std::size_t s = 0; s < 256; ++s) {
    frequencies[s] = static_cast<std::uint32_t>(std::max<std::uint64_t>(sums[s] >> shift, sums[s] != 0));
  }
  return jpeg::optimal_code(frequencies);
}

std::array<jpeg::Codeword, 256> words_of(const jpeg::HuffmanCode& code) {
  std::array<jpeg::Codeword, 256> words{};
  assign_codewords(code, words);
  return words;
}

}  // namespace

std::size_t jpeg_act_rle_measure(const MapShape& shape, const ZvcTiles& tiles, std::span<std::uint8_t, 256> lengths,
                                 std::int64_t* byte_counts, int num_threads) {
  const Pieces pieces(shape);
  const std::vector<std::size_t> begins = begins_of(tiles.counts, pieces.count());
  std::vector<Histogram> histograms(pieces.count());
  parallel_for(num_threads, pieces.count(), [&](std::size_t i) {
    Histogram symbols{};
    spell_piece(pieces[i], tiles.masks, tiles.codes + begins[i], [&](std::uint8_t symbol, int) { ++symbols[symbol]; });
    histograms[i] = symbols;
  });
  const std::array<jpeg::Codeword, 256> words = words_of(best_code(histograms));
  for (std::size_t s = 0; s < 256; ++s) lengths[s] = words[s].length;
  for (std::size_t i = 0; i < pieces.count(); ++i) {
    std::uint64_t bits = 0;
    for (std::size_t s = 0; s < 256; ++s) bits += std::uint64_t{histograms[i][s]} * (words[s].length + s % 16);
    byte_counts[i] = static_cast<std::int64_t>((bits + 7) / 8);
  }
  return static_cast<std::size_t>(std::accumulate(byte_counts, byte_counts + pieces.count(), std::int64_t{0}));
}

void jpeg_act_rle_write(const MapShape& shape, const ZvcTiles& tiles, std::span<const std::uint8_t, 256> lengths,
                        const std::int64_t* byte_counts, std::uint8_t* bytes, int num_threads) {
  const Pieces pieces(shape);
  const std::vector<std::size_t> begins = begins_of(tiles.counts, pieces.count());
  const std::vector<std::size_t> byte_begins = begins_of(byte_counts, pieces.count());
  const std::array<jpeg::Codeword, 256> words = words_of(jpeg::canonical_code(lengths).value());
  parallel_for(num_threads, pieces.count(), [&](std::size_t i) {
    BitWriter out(bytes + byte_begins[i]);
    spell_piece(pieces[i], tiles.masks, tiles.codes + begins[i], [&](std::uint8_t symbol, int value) {
      const unsigned size = symbol % 16;
      const auto low_bits = static_cast<unsigned>(value - (value < 0)) & ((1U << size) - 1);
      out.put(std::uint32_t{words[symbol].bits} << size | low_bits, words[symbol].length + size);
    });
    out.finish();
  });
}

}  // namespace halfbyte::tensor
