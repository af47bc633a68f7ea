// Tensors of two values, and of a third, on every instruction set, in buffers of exactly their size.
#include "tensor/two_values.hpp"

#include <cstdint>
#include <vector>

#include "check.hpp"
#include "base/isa.hpp"
#include "tensor/masks.hpp"

namespace halfbyte::tensor {
namespace {

constexpr int kThreads = 2;

template <class T>
void test_two_values(std::size_t count, T value) {
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = i % 3 == 1 ? value : T{0};
  std::vector<std::uint8_t> bits(mask_bytes(count), 0xff);
  std::vector<std::uint8_t> expected(mask_bytes(count));
  for (std::size_t i = 1; i < count; i += 3) expected[i / 8] = static_cast<std::uint8_t>(expected[i / 8] | 1 << i % 8);
  const std::uint32_t found = count > 1 ? value : 0;
  CHECK(pack_two_values(x.data(), sizeof(T), count, bits.data(), kThreads) == found);
  CHECK(pack_two_values(x.data(), sizeof(T), count, nullptr, kThreads) == found);
  CHECK(bits == expected);
}

template <class T>
void test_third_value(std::size_t count, std::size_t place, T value) {
  std::vector<T> x(count, value);
  x[place] = static_cast<T>(value ^ 1);
  x[(place + 1) % count] = value;
  std::vector<std::uint8_t> bits(mask_bytes(count));
  CHECK(!pack_two_values(x.data(), sizeof(T), count, bits.data(), kThreads));
  CHECK(!pack_two_values(x.data(), sizeof(T), count, nullptr, kThreads));
}

template <class T>
void test_all(T value) {
  constexpr std::size_t kPieces = (1 << 16) + 37;
  for (std::size_t count = 0; count < 140; ++count) test_two_values<T>(count, value);
  for (std::size_t count = 2; count < 140; ++count) test_third_value<T>(count, count * 5 / 7, value);
  test_two_values<T>(kPieces, value);
  for (const std::size_t place : {std::size_t{0}, kPieces / 2, kPieces - 1}) test_third_value<T>(kPieces, place, value);
}

}  // namespace
}  // namespace halfbyte::tensor

int main() {
  using namespace halfbyte;
  using namespace halfbyte::tensor;
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    test_all<std::uint16_t>(0x3fb6);
    test_all<std::uint32_t>(0x3fb6db6e);
    test_all<std::uint32_t>(0x80000000);
  }
  return halfbyte::test::result();
}
