#include "tensor/jpeg_act.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <random>
#include <vector>

#include "tests/check.hpp"

using namespace halfbyte;
using namespace halfbyte::tensor;

namespace {

using Table = std::array<std::uint16_t, 64>;

Table table_of(std::uint16_t entry) {
  Table table;
  table.fill(entry);
  return table;
}

struct Coded {
  std::vector<std::uint64_t> masks;
  std::vector<std::int64_t> counts;
  std::vector<std::uint8_t> codes;

  [[nodiscard]] ZvcTiles tiles() const { return {masks.data(), counts.data(), codes.data()}; }
  bool operator==(const Coded&) const = default;
};

Coded encode(const void* x, Element element, const MapShape& shape, const float* inverse, const JpegActTables& tables,
             int num_threads) {
  Coded coded{.masks = std::vector<std::uint64_t>(shape.tiles()),
              .counts = std::vector<std::int64_t>(jpeg_act_pieces(shape)),
              .codes = {}};
  coded.codes.resize(jpeg_act_encode(x, element, shape, inverse, tables, coded.masks.data(), coded.counts.data(),
                                     num_threads));
  jpeg_act_gather(shape, coded.counts.data(), coded.codes.data(), num_threads);
  return coded;
}

// One tile of 8 by 8, or less, of integers.
Coded encode_tile(const std::vector<float>& x, std::size_t height, std::size_t width, std::uint16_t step) {
  const float one = 1;
  return encode(x.data(), Element::float32, {1, height, width, 1, 1}, &one,
                jpeg_act_tables(table_of(step).data(), Rounding::truncate), 1);
}

template <class Test>
void for_isas(const Test& test) {
  const Isa before = current_isa();
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    test();
  }
  set_isa(before);
}

// Memory that ends where the array does, so that a sanitizer sees every step beyond. `T` is what an element takes.
template <class T>
std::vector<T> random_elements(const MapShape& shape, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<T> x(shape.count());
  for (T& element : x) {
    const float value = normal(random);
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    if constexpr (sizeof(T) == 4) element = value;
    if constexpr (sizeof(T) == 2) element = static_cast<std::uint16_t>(bits >> 16);  // as bfloat16
  }
  return x;
}

constexpr MapShape kShapes[] = {{1, 8, 8, 1, 1},     {6, 16, 24, 1, 3},    {3, 7, 7, 1, 3},   {40, 14, 14, 1, 20},
                                {2, 4, 9, 1, 1},     {2, 150, 260, 1, 2},  {2, 9, 17, 3, 3},  {1, 28, 28, 40, 40},
                                {3, 8, 8, 16, 16},   {1, 12, 20, 17, 17},  {5, 7, 5, 33, 33}, {1, 100, 70, 8, 8},
                                {700, 16, 8, 1, 70}, {1, 9, 10, 600, 600}, {2, 1, 1, 1, 2},   {1, 2, 3, 5, 5}};

template <class T>
void instruction_sets_and_threads_agree(Element element) {
  for (const MapShape& shape : kShapes) {
    for (const Rounding rounding : {Rounding::truncate, Rounding::nearest}) {
      const std::vector<T> x = random_elements<T>(shape, 1);
      const JpegActTables tables = jpeg_act_tables(table_of(11).data(), rounding);
      std::vector<Coded> all;
      std::vector<std::vector<T>> decoded;
      for_isas([&] {
        for (const int num_threads : {1, 3}) {
          std::vector<float> scales(shape.channels), inverse(shape.channels);
          CHECK(jpeg_act_scales(x.data(), element, shape, scales.data(), inverse.data(), num_threads));
          all.push_back(encode(x.data(), element, shape, inverse.data(), tables, num_threads));
          std::vector<T> y(shape.count());
          CHECK(jpeg_act_decode(all.back().tiles(), all.back().codes.size(), element, shape, scales.data(), tables,
                                y.data(), num_threads));
          decoded.push_back(y);
        }
      });
      CHECK(std::all_of(all.begin(), all.end(), [&](const Coded& coded) { return coded == all[0]; }));
      CHECK(std::all_of(decoded.begin(), decoded.end(), [&](const auto& y) { return y == decoded[0]; }));
    }
  }
}

void memory_orders_give_the_same_values() {
  constexpr std::size_t kImages = 2, kChannels = 19, kHeight = 22, kWidth = 13, kArea = kHeight * kWidth;
  const MapShape planar{kImages * kChannels, kHeight, kWidth, 1, kChannels};
  const MapShape last{kImages, kHeight, kWidth, kChannels, kChannels};
  const std::vector<float> x = random_elements<float>(planar, 2);
  const auto at_last = [&](std::size_t i) {  // where element i of NCHW lies with channels_last
    const std::size_t image = i / (kChannels * kArea), channel = i / kArea % kChannels;
    return (image * kArea + i % kArea) * kChannels + channel;
  };
  std::vector<float> x_last(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) x_last[at_last(i)] = x[i];
  const JpegActTables tables = jpeg_act_tables(table_of(16).data(), Rounding::truncate);
  const auto round_trip = [&](const MapShape& shape, const std::vector<float>& elements) {
    std::vector<float> scales(kChannels), inverse(kChannels), y(elements.size());
    jpeg_act_scales(elements.data(), Element::float32, shape, scales.data(), inverse.data(), 1);
    const Coded coded = encode(elements.data(), Element::float32, shape, inverse.data(), tables, 1);
    CHECK(jpeg_act_decode(coded.tiles(), coded.codes.size(), Element::float32, shape, scales.data(), tables, y.data(),
                          1));
    return y;
  };
  const std::vector<float> y = round_trip(planar, x), y_last = round_trip(last, x_last);
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(y_last[at_last(i)] == y[i]);
}

void a_constant_has_one_code() {
  for_isas([] {
    for (std::size_t height = 1; height <= 8; ++height) {
      for (std::size_t width = 1; width <= 8; ++width) {
        const Coded coded = encode_tile(std::vector<float>(height * width, 1), height, width, 1);
        CHECK(coded.masks[0] == 1);
        CHECK(coded.codes[0] == std::lrint(std::sqrt(static_cast<double>(height * width))));
      }
    }
  });
}

void codes_of_steps_of_eight_never_saturate_but_smaller_ones_do() {
  for_isas([] {
    const auto first_code = [](float value, std::uint16_t step) {
      return static_cast<std::int8_t>(encode_tile(std::vector<float>(64, value), 8, 8, step).codes[0]);
    };
    CHECK(first_code(-128, 8) == -128);
    CHECK(first_code(127, 8) == 127);
    CHECK(first_code(-128, 5) == -128);
    CHECK(first_code(127, 5) == 127);
    CHECK(first_code(-20, 1) == -128);
    CHECK(first_code(20, 1) == 127);
  });
}

// What makes each coefficient as large as 8-bit codes can.
void the_largest_coefficients_do_not_wrap() {
  for_isas([] {
    for (int u = 0; u < 8; ++u) {
      for (int v = 0; v < 8; ++v) {
        const auto wave = [](int i, int k) { return std::cos(std::numbers::pi * (2 * i + 1) * k / 16); };
        std::vector<float> x(64);
        double largest = 0;
        for (int i = 0; i < 64; ++i) {
          const double weight = wave(i / 8, u) * wave(i % 8, v) * std::sqrt((u == 0 ? 1 : 2) * (v == 0 ? 1 : 2)) / 8;
          x[static_cast<std::size_t>(i)] = weight < 0 ? -128 : 127;
          largest += std::abs(weight) * (weight < 0 ? 128 : 127);
        }
        const Coded coded = encode_tile(x, 8, 8, 8);
        const auto code = *std::max_element(coded.codes.begin(), coded.codes.end(), [](std::uint8_t a, std::uint8_t b) {
          return static_cast<std::int8_t>(a) < static_cast<std::int8_t>(b);
        });
        CHECK(largest <= 1024);
        CHECK(code == static_cast<int>(std::rint(largest)) / 8);
      }
    }
  });
}

void channels_that_are_not_finite_have_no_codes() {
  for (const MapShape& shape : {MapShape{6, 9, 8, 1, 3}, MapShape{2, 9, 8, 3, 3}}) {
    std::vector<float> x = random_elements<float>(shape, 3);
    x[shape.inner == 1 ? 8 * 9 + 5 : 1] = NAN;
    const JpegActTables tables = jpeg_act_tables(table_of(8).data(), Rounding::truncate);
    for_isas([&] {
      std::vector<float> scales(3), inverse(3);
      CHECK(!jpeg_act_scales(x.data(), Element::float32, shape, scales.data(), inverse.data(), 1));
      CHECK(std::isnan(scales[1]) && inverse[1] == 0 && inverse[0] > 0);
      const Coded coded = encode(x.data(), Element::float32, shape, inverse.data(), tables, 1);
      CHECK(std::count(coded.masks.begin(), coded.masks.end(), 0) == 4);  // two images, two rows of tiles
    });
  }
}

void damage_is_found() {
  std::mt19937 random(4);
  for (const MapShape& shape : kShapes) {
    const std::vector<float> x = random_elements<float>(shape, 5);
    const JpegActTables tables = jpeg_act_tables(table_of(8).data(), Rounding::truncate);
    std::vector<float> scales(shape.channels), inverse(shape.channels), y(shape.count());
    jpeg_act_scales(x.data(), Element::float32, shape, scales.data(), inverse.data(), 1);
    const Coded sound = encode(x.data(), Element::float32, shape, inverse.data(), tables, 1);
    for_isas([&] {
      for (int round = 0; round < 20; ++round) {
        Coded coded = sound;
        if (round % 2 == 0) coded.masks[random() % coded.masks.size()] ^= std::uint64_t{1} << random() % 64;
        if (round % 2 == 1) coded.counts[random() % coded.counts.size()] += static_cast<int>(random() % 9) - 10;
        if (round % 5 == 0) coded.codes.pop_back();
        CHECK(!jpeg_act_decode(coded.tiles(), coded.codes.size(), Element::float32, shape, scales.data(), tables,
                               y.data(), 2));
      }
    });
  }
}

}  // namespace

int main() {
  instruction_sets_and_threads_agree<float>(Element::float32);
  instruction_sets_and_threads_agree<std::uint16_t>(Element::bfloat16);
  memory_orders_give_the_same_values();
  a_constant_has_one_code();
  codes_of_steps_of_eight_never_saturate_but_smaller_ones_do();
  the_largest_coefficients_do_not_wrap();
  channels_that_are_not_finite_have_no_codes();
  damage_is_found();
  return halfbyte::test::result();
}
