// Masks of every length up to a few blocks, on every instruction set, in buffers of exactly their size.
#include "tensor/masks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "check.hpp"
#include "base/isa.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::size_t kPieces = (1 << 16) * 2 + 37;  // elements of a tensor of more than one piece
constexpr int kThreads = 2;

std::vector<std::size_t> counts() {
  std::vector<std::size_t> all = {kPieces};
  for (std::size_t count = 0; count < 150; ++count) all.push_back(count);
  return all;
}

bool bit(const std::vector<std::uint8_t>& bits, std::size_t i) { return (bits[i / 8] >> i % 8 & 1) != 0; }

// Whether bit i is expected(i), and the bits after the last element are 0.
template <class Expected>
bool holds(const std::vector<std::uint8_t>& bits, std::size_t count, const Expected& expected) {
  for (std::size_t i = 0; i < count; ++i) {
    if (bit(bits, i) != expected(i)) return false;
  }
  return count % 8 == 0 || bits.back() >> count % 8 == 0;
}

std::vector<std::uint8_t> some_bits(std::size_t count) {
  std::vector<std::uint8_t> bits(mask_bytes(count));
  for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = static_cast<std::uint8_t>(i * 151 + 77);
  return bits;
}

void test_positive_floats(std::size_t count) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr std::array<float, 9> kValues = {0, 1, -1, -0.0F, kInfinity, -kInfinity, std::nanf(""), 1e-40F, -1e-40F};
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = kValues[i * 7 % kValues.size()];
  const bool nans = std::any_of(x.begin(), x.end(), [](float value) { return std::isnan(value); });
  std::vector<std::uint8_t> bits(mask_bytes(count), 0xff);
  CHECK(pack_positive(x.data(), Element::float32, count, bits.data(), kThreads) == nans);
  CHECK(holds(bits, count, [&](std::size_t i) { return x[i] > 0 || std::isnan(x[i]); }));
}

// All patterns of 16 bits, in the order of memory for long tensors.
void test_positive_halves(Element element, std::uint16_t infinity, std::size_t count) {
  std::vector<std::uint16_t> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<std::uint16_t>(count < kPieces ? i * 4099 : i);
  std::vector<std::uint8_t> bits(mask_bytes(count), 0xff);
  const auto is_nan = [=](std::uint16_t value) { return (value & 0x7fff) > infinity; };
  CHECK(pack_positive(x.data(), element, count, bits.data(), kThreads) == std::any_of(x.begin(), x.end(), is_nan));
  CHECK(holds(bits, count, [&](std::size_t i) { return is_nan(x[i]) || (x[i] > 0 && x[i] <= infinity); }));
}

template <class T>
void test_nonzero(std::size_t count) {
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<T>(T{1} << i % (9 * sizeof(T)) % (8 * sizeof(T)));
  for (std::size_t i = 0; i < count; i += 3) x[i] = 0;
  std::vector<std::uint8_t> bits(mask_bytes(count), 0xff);
  pack_nonzero(x.data(), sizeof(T), count, bits.data(), kThreads);
  CHECK(holds(bits, count, [&](std::size_t i) { return x[i] != 0; }));
}

template <class T>
void test_unpack(std::size_t count, T pattern) {
  const std::vector<std::uint8_t> bits = some_bits(count);
  std::vector<T> out(count, T{3});
  unpack_bits(bits.data(), count, pattern, sizeof(T), out.data(), kThreads);
  bool same = true;
  for (std::size_t i = 0; i < count; ++i) same = same && out[i] == (bit(bits, i) ? pattern : T{0});
  CHECK(same);
}

template <class T>
void test_apply(std::size_t count) {
  const std::vector<std::uint8_t> bits = some_bits(count);
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<T>(i * 2654435761U);
  std::vector<T> applied = x;
  apply_mask(bits.data(), count, sizeof(T), applied.data(), kThreads);
  bool same = true;
  for (std::size_t i = 0; i < count; ++i) same = same && applied[i] == (bit(bits, i) ? x[i] : T{0});
  CHECK(same);
}

void test_all(std::size_t count) {
  test_positive_floats(count);
  test_positive_halves(Element::bfloat16, 0x7f80, count);
  test_positive_halves(Element::float16, 0x7c00, count);
  test_nonzero<std::uint8_t>(count);
  test_nonzero<std::uint16_t>(count);
  test_nonzero<std::uint32_t>(count);
  test_unpack<std::uint8_t>(count, 1);
  test_unpack<std::uint16_t>(count, 0x3f80);
  test_unpack<std::uint32_t>(count, 0x3f800000);
  test_apply<std::uint16_t>(count);
  test_apply<std::uint32_t>(count);
}

}  // namespace
}  // namespace halfbyte::tensor

int main() {
  using namespace halfbyte;
  using namespace halfbyte::tensor;
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    for (const std::size_t count : counts()) test_all(count);
  }
  return halfbyte::test::result();
}
