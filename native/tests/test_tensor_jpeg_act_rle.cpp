#include "tensor/jpeg_act_rle.hpp"

#include <array>
#include <bit>
#include <random>
#include <vector>

#include "tensor/jpeg_act_pieces.hpp"
#include "tests/check.hpp"

using namespace halfbyte::tensor;

namespace {

constexpr int kThreads = 2;
constexpr MapShape kShapes[] = {{1, 8, 8, 1, 1}, {3, 20, 12, 1, 3}, {1, 8, 16, 600, 600}, {40, 32, 32, 1, 20}};

struct Tiles {
  MapShape shape;
  std::vector<std::uint64_t> masks;
  std::vector<std::int64_t> counts;
  std::vector<std::uint8_t> codes;

  [[nodiscard]] ZvcTiles view() const { return {masks.data(), counts.data(), codes.data()}; }
};

// Tiles of which about `percent` of the codes are not 0, most of them small.
Tiles random_tiles(const MapShape& shape, unsigned percent, unsigned seed) {
  std::mt19937 random(seed);
  Tiles tiles{.shape = shape,
              .masks = std::vector<std::uint64_t>(shape.tiles()),
              .counts = std::vector<std::int64_t>(jpeg_act_pieces(shape)),
              .codes = {}};
  const Pieces pieces(shape);
  std::size_t piece = 0;
  for (std::size_t t = 0; t < shape.tiles(); ++t) {
    if (t == pieces[piece].first_tile + pieces[piece].tiles) ++piece;
    for (int i = 0; i < 64; ++i) {
      if (random() % 100 >= percent) continue;
      tiles.masks[t] |= std::uint64_t{1} << i;
      int value = static_cast<int>(random() % 256) - 128;
      value /= 1 << random() % 8;
      tiles.codes.push_back(static_cast<std::uint8_t>(value == 0 ? 1 : value));
      ++tiles.counts[piece];
    }
  }
  return tiles;
}

struct Stream {
  std::array<std::uint8_t, 256> lengths{};
  std::vector<std::int64_t> byte_counts;
  std::vector<std::uint8_t> bytes;
};

Stream write(const Tiles& tiles) {
  Stream stream{.byte_counts = std::vector<std::int64_t>(tiles.counts.size()), .bytes = {}};
  stream.bytes.resize(
      jpeg_act_rle_measure(tiles.shape, tiles.view(), stream.lengths, stream.byte_counts.data(), kThreads));
  jpeg_act_rle_write(tiles.shape, tiles.view(), stream.lengths, stream.byte_counts.data(), stream.bytes.data(),
                     kThreads);
  return stream;
}

bool read(const Stream& stream, Tiles& tiles) {
  return jpeg_act_rle_read(tiles.shape, stream.bytes, stream.byte_counts.data(), stream.lengths, tiles.counts.data(),
                           tiles.codes.size(), tiles.masks.data(), tiles.codes.data(), kThreads);
}

void tiles_come_back() {
  unsigned seed = 0;
  for (const MapShape& shape : kShapes) {
    for (const unsigned percent : {0U, 1U, 5U, 30U, 70U, 100U}) {
      const Tiles tiles = random_tiles(shape, percent, ++seed);
      Tiles back = tiles;
      back.masks.assign(back.masks.size(), 42);
      back.codes.assign(back.codes.size(), 42);
      CHECK(read(write(tiles), back));
      CHECK(back.masks == tiles.masks && back.codes == tiles.codes);
    }
  }
}

void an_empty_tile_takes_a_bit() {
  const Tiles tiles = random_tiles({8, 32, 32, 1, 8}, 0, 1);
  CHECK(write(tiles).bytes.size() == tiles.shape.tiles() / 8);
}

// Any damage is found, or gives other tiles of as many codes; none is read or written beyond its memory.
void damage_does_no_harm() {
  std::mt19937 random(7);
  for (const MapShape& shape : kShapes) {
    const Tiles tiles = random_tiles(shape, 20, 3);
    const Stream sound = write(tiles);
    int found = 0;
    constexpr int kRounds = 400;
    for (int round = 0; round < kRounds; ++round) {
      Stream stream = sound;
      Tiles out = tiles;
      std::uint8_t& length = stream.lengths[random() % 256];
      switch (round % 5) {
        case 0: stream.bytes[random() % stream.bytes.size()] ^= static_cast<std::uint8_t>(1U << random() % 8); break;
        case 1: stream.byte_counts[random() % stream.byte_counts.size()] += static_cast<int>(random() % 64) - 32; break;
        case 2: out.counts[random() % out.counts.size()] += static_cast<int>(random() % 64) - 32; break;
        case 3: length = static_cast<std::uint8_t>(random()); break;
        default: stream.bytes.resize(random() % stream.bytes.size());
      }
      if (!read(stream, out)) ++found;
    }
    CHECK(found > kRounds / 2);
  }
}

void random_bytes_do_no_harm() {
  std::mt19937 random(8);
  const Tiles tiles = random_tiles(kShapes[3], 20, 3);
  for (int round = 0; round < 200; ++round) {
    Stream stream = write(tiles);
    Tiles out = tiles;
    for (std::uint8_t& byte : stream.bytes) byte = static_cast<std::uint8_t>(random());
    CHECK(!read(stream, out));
  }
}

}  // namespace

int main() {
  tiles_come_back();
  an_empty_tile_takes_a_bit();
  damage_does_no_harm();
  random_bytes_do_no_harm();
  return halfbyte::test::result();
}
