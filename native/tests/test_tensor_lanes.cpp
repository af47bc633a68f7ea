// Lanes of floats, compiled for one instruction set: conversions against their definition, and against each other.
#include "tensor/lanes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string_view>

#include "check.hpp"
#include "base/isa.hpp"

#define HALFBYTE_NAME(isa) #isa
#define HALFBYTE_NAME_OF(isa) HALFBYTE_NAME(isa)

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

struct Format {
  int fraction_bits;
  int bias;
};
constexpr Format format_of(BFloat16) { return {.fraction_bits = 7, .bias = 127}; }
constexpr Format format_of(Float16) { return {.fraction_bits = 10, .bias = 15}; }

// What 15 bits stand for; infinity as the number that would come next.
template <class Half>
double magnitude(std::uint32_t bits) {
  constexpr Format kFormat = format_of(Half{});
  const int exponent = static_cast<int>(bits >> kFormat.fraction_bits);
  const std::uint32_t hidden = exponent == 0 ? 0 : 1U << kFormat.fraction_bits;
  const std::uint32_t fraction = (bits & ((1U << kFormat.fraction_bits) - 1)) + hidden;
  return std::ldexp(fraction, std::max(exponent, 1) - kFormat.bias - kFormat.fraction_bits);
}

template <class Half>
constexpr std::uint32_t infinity_bits() {
  return (1U << 15) - (1U << format_of(Half{}).fraction_bits);
}

template <class Half>
void test_widening() {
  for (std::uint32_t bits = 0; bits < 1 << 16; ++bits) {
    const float wide = to_float(Half{static_cast<std::uint16_t>(bits)});
    const std::uint32_t size = bits & 0x7fff;
    if (size > infinity_bits<Half>()) {
      CHECK(std::isnan(wide));
    } else if (size == infinity_bits<Half>()) {
      CHECK(std::isinf(wide));
    } else {
      CHECK(std::fabs(wide) == magnitude<Half>(size));
    }
    CHECK(std::signbit(wide) == (bits >> 15 != 0));
  }
}

// No neighbour is nearer, and none as near is even.
template <class Half>
bool is_nearest(double size, std::uint32_t half) {
  const double error = std::fabs(magnitude<Half>(half) - size);
  for (const std::uint32_t other : {half - 1, half + 1}) {
    if (other > infinity_bits<Half>()) continue;
    const double others = std::fabs(magnitude<Half>(other) - size);
    if (others < error || (others == error && half % 2 != 0)) return false;
  }
  return true;
}

template <class Half>
void test_narrowing(float value) {
  const std::uint32_t half = from_float<Half>(value).bits;
  CHECK((half >> 15 != 0) == std::signbit(value));
  if (std::isnan(value)) {
    CHECK((half & 0x7fff) > infinity_bits<Half>());
  } else if (std::isinf(value)) {
    CHECK((half & 0x7fff) == infinity_bits<Half>());
  } else {
    const double beyond = magnitude<Half>(infinity_bits<Half>());
    CHECK(is_nearest<Half>(std::min<double>(std::fabs(value), beyond), half & 0x7fff));
  }
}

template <class Half>
void test_ties() {
  for (std::uint32_t half = 0; half < infinity_bits<Half>(); ++half) {
    const double tie = (magnitude<Half>(half) + magnitude<Half>(half + 1)) / 2;
    const auto exactly = static_cast<float>(tie);
    for (const float value : {exactly, std::nextafter(exactly, 0.0F), std::nextafter(exactly, 1e38F)}) {
      test_narrowing<Half>(value);
      test_narrowing<Half>(-value);
    }
  }
}

// A sample of all floats, all exponents among them.
template <class Test>
void for_floats(const Test& test) {
  for (std::uint64_t bits = 0; bits < std::uint64_t{1} << 32; bits += 10'007) {
    test(float_of(static_cast<std::uint32_t>(bits)));
  }
}

std::array<float, kLanes> lanes_around(float value) {
  std::array<float, kLanes> values;
  for (std::size_t i = 0; i < kLanes; ++i) values[i] = float_of(bits_of(value) ^ static_cast<std::uint32_t>(i) << 12);
  return values;
}

// Lanes equal single elements, bit for bit.
template <class Half>
void test_lanes(float value) {
  const std::array<float, kLanes> values = lanes_around(value);
  std::array<Half, kLanes> halves;
  std::array<float, kLanes> back;
  store(halves.data(), load(values.data()));
  store(back.data(), load(halves.data()));
  bool same = true;
  for (std::size_t i = 0; i < kLanes; ++i) {
    same = same && halves[i].bits == from_float<Half>(values[i]).bits;
    same = same && bits_of(back[i]) == bits_of(to_float(halves[i]));
  }
  CHECK(same);
}

void test_nearest(float value) {
  std::array<float, kLanes> values = lanes_around(value);
  std::array<float, kLanes> integers;
  store(integers.data(), nearest(load(values.data())));
  bool same = true;
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (!std::isnan(values[i])) same = same && bits_of(integers[i]) == bits_of(std::nearbyint(values[i]));
  }
  CHECK(same);
}

template <class T>
void test_parts() {
  std::array<T, kLanes> ones;
  store(ones.data(), splat(1));
  for (std::size_t n = 0; n <= kLanes; ++n) {
    std::array<float, kLanes> wide;
    store(wide.data(), load_part(ones.data(), n));
    std::array<T, kLanes> stored = {};
    store_part(stored.data(), splat(2), n);
    for (std::size_t i = 0; i < kLanes; ++i) {
      CHECK(wide[i] == (i < n ? 1 : 0));
      CHECK(to_float(stored[i]) == (i < n ? 2 : 0));
    }
  }
}

template <class Half>
void test_half() {
  test_widening<Half>();
  test_ties<Half>();
  test_parts<Half>();
  for_floats([](float value) {
    test_narrowing<Half>(value);
    test_lanes<Half>(value);
  });
}

bool runs_here() {
  const auto isas = available_isas();
  return std::any_of(isas.begin(), isas.end(), [](Isa isa) { return name_of(isa) == HALFBYTE_NAME_OF(HALFBYTE_ISA); });
}

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA

int main() {
  using namespace halfbyte;
  using namespace halfbyte::tensor;
  if (!HALFBYTE_ISA::runs_here()) return 0;
  HALFBYTE_ISA::test_half<BFloat16>();
  HALFBYTE_ISA::test_half<Float16>();
  HALFBYTE_ISA::test_parts<float>();
  HALFBYTE_ISA::for_floats(HALFBYTE_ISA::test_nearest);
  return halfbyte::test::result();
}
