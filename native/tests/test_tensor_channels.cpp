#include "tensor/channels.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "tests/check.hpp"

using namespace halfbyte;
using namespace halfbyte::tensor;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Shape {
  std::size_t outer, channels, inner;
};
// Planes and columns, few and many of each, with and without pieces and a rest.
constexpr Shape kShapes[] = {{1, 1, 1},    {3, 1, 1},   {0, 4, 3},   {1, 1, 100001}, {2, 3, 784},   {5, 7, 64},
                             {17, 5, 49},  {3, 5, 49},  {300, 3, 1}, {4, 5000, 1},   {70, 2050, 1}, {33, 70, 2},
                             {16, 300, 9}, {2, 9000, 9}};

std::vector<float> random_array(const Shape& shape, float lowest, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(lowest, 1);
  std::vector<float> x(shape.outer * shape.channels * shape.inner);
  for (float& element : x) element = value(random);
  return x;
}

std::vector<float> expected_ranges(const std::vector<float>& x, const Shape& shape) {
  std::vector<float> max_abs(shape.channels, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float& max = max_abs[i / shape.inner % shape.channels];
    max = std::isfinite(x[i]) ? std::max(max, std::abs(x[i])) : kInfinity;
  }
  return max_abs;
}

void agrees(const std::vector<float>& x, const Shape& shape, bool nonneg) {
  std::vector<float> max_abs(shape.channels);
  for (const int threads : {1, 3}) {
    CHECK(channel_ranges(x.data(), Element::float32, shape.outer, shape.channels, shape.inner, max_abs.data(),
                         threads) == nonneg);
    CHECK(max_abs == expected_ranges(x, shape));
  }
}

void ranges_agree_with_the_definition() {
  for (const Shape& shape : kShapes) {
    agrees(random_array(shape, 0, 1), shape, true);
    std::vector<float> x = random_array(shape, -1, 2);
    const bool nonneg = std::all_of(x.begin(), x.end(), [](float value) { return value >= 0; });
    agrees(x, shape, nonneg);
  }
}

void one_element_decides() {
  for (const Shape& shape : kShapes) {
    std::vector<float> x = random_array(shape, 0, 3);
    for (std::size_t i = 0; i < x.size(); i += x.size() / 5 + 1) {
      for (const float odd : {-0.0F, -1e-45F, kInfinity, -kInfinity, std::nanf("")}) {
        const float before = std::exchange(x[i], odd);
        agrees(x, shape, odd >= 0);
        x[i] = before;
      }
    }
  }
}

// A NaN without sign behind a -0.0, whose pattern is the larger one.
void minus_zero_hides_no_nan() { agrees({1, std::nanf(""), -0.0F, 2}, {1, 2, 2}, false); }

void elements_of_two_bytes() {
  const std::vector<std::uint16_t> x = {0x3f80, 0xc000, 0x8000, 0x0001, 0x7c00, 0x7f81};
  float max_abs[6];
  CHECK(!channel_ranges(x.data(), Element::bfloat16, 1, 6, 1, max_abs, 1));
  CHECK(max_abs[0] == 1 && max_abs[1] == 2 && max_abs[2] == 0 && max_abs[3] > 0 && max_abs[4] == 0x1p121F);
  CHECK(max_abs[5] == kInfinity);
  CHECK(!channel_ranges(x.data(), Element::float16, 1, 6, 1, max_abs, 1));
  CHECK(max_abs[0] == 1.875F && max_abs[1] == 2 && max_abs[2] == 0 && max_abs[3] == 0x1p-24F);
  CHECK(max_abs[4] == kInfinity && max_abs[5] == kInfinity);
}

}  // namespace

int main() {
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    ranges_agree_with_the_definition();
    one_element_decides();
    minus_zero_hides_no_nan();
    elements_of_two_bytes();
  }
  return halfbyte::test::result();
}
