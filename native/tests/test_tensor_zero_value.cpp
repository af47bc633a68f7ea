// Zero-value coding of tensors of every length up to a few blocks, on every instruction set, in buffers of exactly
// their size; and masks that do not go with their values.
#include "tensor/zero_value.hpp"

#include <cstdint>
#include <cstring>
#include <vector>

#include "check.hpp"
#include "base/isa.hpp"
#include "tensor/masks.hpp"

// Conversions of single elements, which are the same everywhere.
#define HALFBYTE_ISA plain
#include "tensor/lanes.hpp"

namespace halfbyte::tensor {
namespace {

constexpr int kThreads = 2;
constexpr std::size_t kPieces = (1 << 16) * 2 + 37;
constexpr ZeroFormat kBFloat16{.element = Element::bfloat16, .value = Element::bfloat16};
constexpr ZeroFormat kFloat16{.element = Element::float16, .value = Element::float16};
constexpr ZeroFormat kFloat32{.element = Element::float32, .value = Element::float32};
constexpr ZeroFormat kToBFloat16{.element = Element::float32, .value = Element::bfloat16};
constexpr ZeroFormat kToFloat16{.element = Element::float32, .value = Element::float16};

// Positive numbers, about `density` of 16 of them, among zeros.
template <class T>
std::vector<T> some_elements(std::size_t count, unsigned density) {
  std::vector<T> x(count);
  std::uint32_t state = 12345;
  for (T& element : x) {
    state = state * 1664525 + 1013904223;
    if (state >> 28 < density) element = static_cast<T>((state >> 7 & 0x3fff) + 0x1000);
  }
  return x;
}

struct Coded {
  std::vector<std::uint8_t> bits;
  std::vector<std::byte> values;
  ZeroScan scan;
  bool finite;
};

template <class T>
Coded encode(const std::vector<T>& x, ZeroFormat format) {
  Coded coded{.bits = std::vector<std::uint8_t>(mask_bytes(x.size()), 0xff), .values = {}, .scan = {}, .finite = {}};
  coded.scan = scan_zeros(x.data(), format.element, x.size(), coded.bits.data(), kThreads);
  coded.values.resize(coded.scan.num_values * size_of(format.value));
  coded.finite = compact(x.data(), x.size(), coded.bits.data(), format, coded.values.data(), kThreads);
  return coded;
}

template <class T>
bool decode(const Coded& coded, std::size_t num_values, ZeroFormat format, std::vector<T>& out) {
  return expand(coded.bits.data(), out.size(), coded.values.data(), num_values, format, out.data(), kThreads);
}

template <class T>
void test_exact(std::size_t count, unsigned density, ZeroFormat format) {
  const std::vector<T> x = some_elements<T>(count, density);
  const Coded coded = encode(x, format);
  std::vector<T> decoded(count, T{9});
  CHECK(coded.finite);
  CHECK(!coded.scan.negative);
  CHECK(decode(coded, coded.scan.num_values, format, decoded));
  CHECK(decoded == x);
}

template <class Half>
void test_cast(std::size_t count, unsigned density, ZeroFormat format) {
  std::vector<float> x(count);
  const std::vector<std::uint16_t> patterns = some_elements<std::uint16_t>(count, density);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<float>(patterns[i]) * 1.2345e-5F;
  const Coded coded = encode(x, format);
  std::vector<float> decoded(count, 9);
  CHECK(coded.finite);
  CHECK(decode(coded, coded.scan.num_values, format, decoded));
  bool same = true;
  for (std::size_t i = 0; i < count; ++i) {
    same = same && decoded[i] == plain::to_float(plain::from_float<Half>(x[i]));
  }
  CHECK(same);
}

void test_round_trips(std::size_t count) {
  for (const unsigned density : {0U, 3U, 8U, 16U}) {
    test_exact<std::uint16_t>(count, density, kBFloat16);
    test_exact<std::uint16_t>(count, density, kFloat16);
    test_exact<std::uint32_t>(count, density, kFloat32);
    test_cast<BFloat16>(count, density, kToBFloat16);
    test_cast<Float16>(count, density, kToFloat16);
  }
}

// One element of a kind anywhere is noticed.
void test_one_element(std::size_t count, std::size_t place) {
  std::vector<std::uint32_t> x = some_elements<std::uint32_t>(count, 8);
  for (const std::uint32_t negative : {0x80000000U, 0xbf800000U, 0x7fc00000U}) {
    x[place] = negative;
    CHECK(encode(x, kFloat32).scan.negative);
  }
  x[place] = 0x7f800000;
  CHECK(!encode(x, kFloat32).scan.negative);
  CHECK(encode(x, kToFloat16).finite);
  x[place] = 0x477fefff;
  CHECK(encode(x, kToFloat16).finite);
  x[place] = 0xc77ff000;
  CHECK(!encode(x, kToFloat16).finite);
  CHECK(encode(x, kToBFloat16).finite);
  x[place] = 0x7f7f8000;
  CHECK(!encode(x, kToBFloat16).finite);
}

void test_damage(std::size_t count, ZeroFormat format) {
  const std::vector<std::uint32_t> x = some_elements<std::uint32_t>(count, 8);
  Coded coded = encode(x, format);
  std::vector<std::uint32_t> decoded(count);
  const std::size_t right = coded.scan.num_values;
  CHECK(!decode(coded, right + 1, format, decoded));
  CHECK(!decode(coded, right - 1, format, decoded));
  CHECK(!decode(coded, 0, format, decoded));
  for (const std::size_t byte : {std::size_t{0}, coded.bits.size() / 2, coded.bits.size() - 1}) {
    coded.bits[byte] ^= 1;
    CHECK(!decode(coded, right, format, decoded));
    coded.bits[byte] ^= 1;
  }
  if (count % 8 == 0) return;
  coded.bits.back() |= 0x80;
  CHECK(!decode(coded, right, format, decoded));
  CHECK(!decode(coded, right + 1, format, decoded));
}

}  // namespace
}  // namespace halfbyte::tensor

int main() {
  using namespace halfbyte;
  using namespace halfbyte::tensor;
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    for (std::size_t count = 0; count < 200; ++count) test_round_trips(count);
    test_round_trips(kPieces);
    for (const std::size_t place : {std::size_t{0}, std::size_t{5000}, kPieces - 1}) test_one_element(kPieces, place);
    for (const std::size_t count : {std::size_t{30}, std::size_t{100}, kPieces}) {
      for (const ZeroFormat format : {kFloat32, kToBFloat16, kToFloat16}) test_damage(count, format);
    }
  }
  return halfbyte::test::result();
}
