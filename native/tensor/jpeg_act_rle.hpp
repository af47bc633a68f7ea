// The entropy coding of JPEG (T.81, F.1.2.2) over zero-value coded tiles, as JPEG-BASE has it: the first code is like
// all others, and not predicted from the tile before. A code takes a Huffman symbol, (zeros before it) * 16 + (bits of
// it), and these bits; 0xF0 stands for 16 zeros, 0 for the end of a tile whose last code is 0. Bits fill bytes from the
// top, and each piece of the maps begins with a byte. The Huffman code is the best of at most 16 bits for this tensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/jpeg_act.hpp"

namespace halfbyte::tensor {

// Chooses the Huffman code. Gives its lengths and the bytes of each piece, and returns how many these are together.
std::size_t jpeg_act_rle_measure(const MapShape& shape, const ZvcTiles& tiles, std::span<std::uint8_t, 256> lengths,
                                 std::int64_t* byte_counts, int num_threads);
void jpeg_act_rle_write(const MapShape& shape, const ZvcTiles& tiles, std::span<const std::uint8_t, 256> lengths,
                        const std::int64_t* byte_counts, std::uint8_t* bytes, int num_threads);

// False when the bytes are not what some tiles with these counts give; masks and codes are undefined then.
bool jpeg_act_rle_read(const MapShape& shape, std::span<const std::uint8_t> bytes, const std::int64_t* byte_counts,
                       std::span<const std::uint8_t, 256> lengths, const std::int64_t* counts, std::size_t num_codes,
                       std::uint64_t* masks, std::uint8_t* codes, int num_threads);

}  // namespace halfbyte::tensor
