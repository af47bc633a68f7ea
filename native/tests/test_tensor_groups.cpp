// Group quantization on every instruction set, in buffers of exactly their size, against the formulas one element at a
// time.
#include "tensor/group_quantize.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "check.hpp"
#include "base/isa.hpp"

namespace halfbyte::tensor {
namespace {

constexpr int kThreads = 2;
constexpr std::uint16_t kNan = 0x7fc0;

struct Coded {
  std::vector<std::uint8_t> codes;
  std::vector<float> least;
  std::vector<std::uint16_t> steps;
  std::size_t kept = 0;

  Coded(std::size_t count, GroupFormat format)
      : codes(code_bytes(count, format.bits)), least(num_groups(count, format)), steps(num_groups(count, format)) {}

  bool operator==(const Coded&) const = default;
};

Coded encoded(const std::vector<float>& x, GroupFormat format, Rounding rounding) {
  Coded coded(x.size(), format);
  coded.kept = encode_groups(x.data(), Element::float32, x.size(), format, rounding,
                             {coded.codes.data(), coded.least.data(), coded.steps.data()}, kThreads);
  return coded;
}

std::vector<float> decoded(const Coded& coded, std::size_t count, GroupFormat format) {
  std::vector<float> x(count);
  const std::size_t kept = decode_groups({coded.codes.data(), coded.least.data(), coded.steps.data()},
                                         Element::float32, count, format, x.data(), kThreads);
  CHECK(kept == static_cast<std::size_t>(std::count_if(coded.steps.begin(), coded.steps.end(), [](std::uint16_t step) {
          return (step & 0x7fff) > 0x7f80;
        })));
  return x;
}

std::uint32_t random_bits(std::size_t counter, Stream stream) {
  std::uint32_t words[] = {static_cast<std::uint32_t>(counter)};
  draw(words, stream);
  return words[0];
}

float uniform(std::size_t i, Stream stream) {
  const std::uint32_t random = random_bits(i / 32 * 16 + i % 16, stream);
  return (static_cast<float>(i % 32 < 16 ? random & 0xffff : random >> 16) + 0.5f) * 0x1p-16f;
}

float float_of(std::uint16_t bfloat16) {
  const std::uint32_t bits = std::uint32_t{bfloat16} << 16;
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

std::uint32_t code_at(const Coded& coded, std::size_t i, int bits) {
  std::uint32_t code = 0;
  for (int b = 0; b < bits; ++b) {
    const std::size_t at = i * static_cast<std::size_t>(bits) + static_cast<std::size_t>(b);
    code |= static_cast<std::uint32_t>(coded.codes[at / 8] >> at % 8 & 1) << b;
  }
  return code;
}

// The step is the least bfloat16 that reaches the greatest element, and every code follows from it.
void check_group(const Coded& coded, const std::vector<float>& x, std::size_t first, std::size_t n, GroupFormat format,
                 Rounding rounding) {
  const std::size_t g = first / format.group;
  const auto [low, high] = std::minmax_element(x.begin() + static_cast<std::ptrdiff_t>(first),
                                               x.begin() + static_cast<std::ptrdiff_t>(first + n));
  const auto levels = static_cast<float>((1 << format.bits) - 1);
  const float exact = (*high - *low) / levels;
  const float step = float_of(coded.steps[g]);
  CHECK(coded.least[g] == *low);
  CHECK(step >= exact && (exact == 0 || float_of(static_cast<std::uint16_t>(coded.steps[g] - 1)) < exact));
  const float inverse = step == 0 ? 0 : 1 / step;
  for (std::size_t i = first; i < first + n; ++i) {
    const float offset = rounding.stochastic ? uniform(i, rounding.stream) : 0.5f;
    const volatile float above = (x[i] - *low) * inverse;  // volatile, lest it be fused with the sum
    CHECK(code_at(coded, i, format.bits) == static_cast<std::uint32_t>(std::min(std::floor(above + offset), levels)));
  }
}

std::vector<float> some_floats(std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = static_cast<float>(random_bits(i, spread_key(9)) >> 8) * 0x1p-20f - 3.5f;
  }
  return x;
}

void test_codes(GroupFormat format, std::size_t count, Rounding rounding) {
  const std::vector<float> x = some_floats(count);
  const Coded coded = encoded(x, format, rounding);
  CHECK(coded.kept == 0);
  for (std::size_t first = 0; first < count; first += format.group) {
    check_group(coded, x, first, std::min(format.group, count - first), format, rounding);
  }
  const std::vector<float> back = decoded(coded, count, format);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t g = i / format.group;
    const volatile float above = static_cast<float>(code_at(coded, i, format.bits)) * float_of(coded.steps[g]);
    CHECK(back[i] == coded.least[g] + above);
  }
}

void test_infinities(GroupFormat format) {
  constexpr std::size_t kCount = 5000;
  std::vector<float> x = some_floats(kCount);
  const std::vector<std::size_t> places = {0, kCount / 2, kCount - 1};
  x[places[0]] = std::numeric_limits<float>::quiet_NaN();
  x[places[1]] = -std::numeric_limits<float>::infinity();
  x[places[2]] = std::numeric_limits<float>::infinity();
  const Coded coded = encoded(x, format, {true, spread_key(4)});
  CHECK(coded.kept == 3);
  const std::vector<float> back = decoded(coded, kCount, format);
  for (const std::size_t place : places) {
    const std::size_t g = place / format.group;
    CHECK(coded.steps[g] == kNan && coded.least[g] == 0);
    CHECK(std::isnan(back[place]) && std::isnan(back[g * format.group]));
    CHECK(code_at(coded, place, format.bits) == 0);
  }
}

// Whatever the bytes are, reading stays within them; ASan watches.
void test_any_bytes(GroupFormat format, std::size_t count) {
  Coded coded(count, format);
  for (std::size_t i = 0; i < coded.codes.size(); ++i) {
    coded.codes[i] = static_cast<std::uint8_t>(random_bits(i, spread_key(1)));
  }
  for (std::size_t g = 0; g < coded.steps.size(); ++g) {
    coded.steps[g] = static_cast<std::uint16_t>(random_bits(g, spread_key(2)));
    const std::uint32_t bits = random_bits(g, spread_key(3));
    std::memcpy(&coded.least[g], &bits, sizeof bits);
  }
  decoded(coded, count, format);
}

// 0 to 255 are exact with eight bits, as are groups of one element; as float16 the same bytes are other numbers.
void test_halves(std::size_t count) {
  std::vector<std::uint16_t> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = static_cast<float>(i % 256);
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    x[i] = static_cast<std::uint16_t>(bits >> 16);
  }
  for (const Element element : {Element::bfloat16, Element::float16}) {
    const GroupFormat format{8, 256};
    Coded coded(count, format);
    std::vector<std::uint16_t> least(coded.steps.size());
    std::vector<std::uint16_t> back(count);
    encode_groups(x.data(), element, count, format, {false, {}},
                  {coded.codes.data(), least.data(), coded.steps.data()}, kThreads);
    decode_groups({coded.codes.data(), least.data(), coded.steps.data()}, element, count, format, back.data(),
                  kThreads);
    if (element == Element::bfloat16) CHECK(back == x);
  }
}

void test_all(int bits) {
  for (const std::size_t group : {32u, 96u, 256u, 1024u}) {
    const GroupFormat format{bits, group};
    for (const std::size_t count : {0u, 1u, 7u, 31u, 32u, 33u, 95u, 256u, 1000u, 1025u, 2048u}) {
      test_codes(format, count, {true, spread_key(count)});
      test_codes(format, count, {false, {}});
      test_any_bytes(format, count);
    }
    test_infinities(format);
  }
  test_codes({bits, 96}, (1 << 16) + 37, {true, spread_key(5)});
}

}  // namespace
}  // namespace halfbyte::tensor

int main() {
  using namespace halfbyte;
  using namespace halfbyte::tensor;
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    for (const int bits : {1, 2, 3, 4, 8}) test_all(bits);
    for (const std::size_t count : {1u, 256u, 5u * 256 + 1}) test_halves(count);
  }
  return halfbyte::test::result();
}
