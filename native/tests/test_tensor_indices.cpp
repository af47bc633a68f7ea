// Ranges of integers and their conversions, on every instruction set, in buffers of exactly their size.
#include "tensor/indices.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"
#include "base/isa.hpp"

namespace halfbyte::tensor {
namespace {

constexpr int kThreads = 2;

template <class T>
std::vector<T> some_integers(std::size_t count) {
  std::vector<T> x(count);
  for (std::size_t i = 0; i < count; ++i) x[i] = static_cast<T>(i * 0x9e3779b97f4a7c15U >> 13);
  return x;
}

template <class T>
void test_range(Integer type, std::size_t count) {
  for (const std::size_t place : {count * 2 / 3, count - 1}) {
    for (const T extreme : {std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}) {
      std::vector<T> x = some_integers<T>(count);
      for (T& element : x) element = static_cast<T>(element / 2);
      x[place] = extreme;
      const auto [least, greatest] = std::minmax_element(x.begin(), x.end());
      const Range range = range_of(x.data(), type, count, kThreads);
      CHECK(range.least == *least);
      CHECK(range.greatest == *greatest);
    }
  }
}

// Narrow integers survive wider types.
template <class Narrow, class Wide>
void test_conversion(Integer narrow, Integer wide, std::size_t count) {
  const std::vector<Narrow> x = some_integers<Narrow>(count);
  std::vector<Wide> widened(count);
  std::vector<Narrow> narrowed(count);
  convert_integers(x.data(), narrow, count, widened.data(), wide, kThreads);
  CHECK(std::equal(x.begin(), x.end(), widened.begin(), [](Narrow a, Wide b) { return Wide{a} == b; }));
  convert_integers(widened.data(), wide, count, narrowed.data(), narrow, kThreads);
  CHECK(narrowed == x);
}

void test_all(std::size_t count) {
  using enum Integer;
  if (count > 0) {
    test_range<std::uint8_t>(uint8, count);
    test_range<std::int16_t>(int16, count);
    test_range<std::int32_t>(int32, count);
    test_range<std::int64_t>(int64, count);
  }
  test_conversion<std::uint8_t, std::uint8_t>(uint8, uint8, count);
  test_conversion<std::uint8_t, std::int16_t>(uint8, int16, count);
  test_conversion<std::uint8_t, std::int32_t>(uint8, int32, count);
  test_conversion<std::uint8_t, std::int64_t>(uint8, int64, count);
  test_conversion<std::int16_t, std::int16_t>(int16, int16, count);
  test_conversion<std::int16_t, std::int32_t>(int16, int32, count);
  test_conversion<std::int16_t, std::int64_t>(int16, int64, count);
  test_conversion<std::int32_t, std::int32_t>(int32, int32, count);
  test_conversion<std::int32_t, std::int64_t>(int32, int64, count);
  test_conversion<std::int64_t, std::int64_t>(int64, int64, count);
}

}  // namespace
}  // namespace halfbyte::tensor

int main() {
  using namespace halfbyte;
  using namespace halfbyte::tensor;
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    for (std::size_t count = 0; count < 140; ++count) test_all(count);
    test_all((1 << 16) + 37);
  }
  return halfbyte::test::result();
}
