// Indices of pools, coded and decoded, in buffers of exactly their size.
#include "tensor/pool_indices.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "check.hpp"

namespace halfbyte::tensor {
namespace {

struct Coded {
  explicit Coded(PoolShape shape) : bases(shape.windows), codes((shape.count + 1) / 2, 0xff) {}

  PoolParts parts() { return {bases.data(), places.data(), codes.data()}; }

  std::vector<std::int64_t> bases;
  std::array<std::int64_t, kMostPlaces> places{};
  std::vector<std::uint8_t> codes;
};

std::size_t window_of(std::size_t i, PoolShape shape) { return i / shape.repeat % shape.windows; }

// Windows of `places` places each, the last of them `far` from the first; every window has its first.
std::vector<std::int64_t> some_indices(PoolShape shape, std::size_t places, std::int64_t far) {
  std::vector<std::int64_t> x(shape.count);
  for (std::size_t i = 0; i < shape.count; ++i) {
    const std::size_t place = i < shape.windows * shape.repeat ? 0 : i * 2654435761U / 7 % places;
    const auto last = static_cast<std::int64_t>(places) - 1;
    const std::int64_t away = static_cast<std::int64_t>(place) == last ? far : static_cast<std::int64_t>(place);
    x[i] = static_cast<std::int64_t>(window_of(i, shape)) * 3 - 5 + away;
  }
  return x;
}

void test_indices_come_back(PoolShape shape, std::size_t places, std::int64_t far) {
  const std::vector<std::int64_t> x = some_indices(shape, places, far);
  for (const int threads : {1, 3}) {
    Coded coded(shape);
    CHECK(encode_pool_indices(x.data(), shape, coded.parts(), threads));
    CHECK(std::is_sorted(coded.places.begin(), std::find(coded.places.begin() + 1, coded.places.end(), 0)));
    CHECK(shape.count % 2 == 0 || coded.codes.back() >> 4 == 0);
    std::vector<std::int64_t> back(shape.count);
    decode_pool_indices(coded.parts(), shape, back.data(), threads);
    CHECK(back == x);
  }
}

void test_refused(PoolShape shape, std::size_t places, std::int64_t far) {
  const std::vector<std::int64_t> x = some_indices(shape, places, far);
  Coded coded(shape);
  CHECK(!encode_pool_indices(x.data(), shape, coded.parts(), 2));
}

void test_extremes(PoolShape shape) {
  std::vector<std::int64_t> x(shape.count, std::numeric_limits<std::int64_t>::max());
  Coded coded(shape);
  CHECK(encode_pool_indices(x.data(), shape, coded.parts(), 2));
  x.back() = std::numeric_limits<std::int64_t>::min();
  CHECK(!encode_pool_indices(x.data(), shape, coded.parts(), 2));
}

// Whatever the bytes are, nothing beyond them is read; UBSan and ASan watch.
void test_any_bytes(PoolShape shape) {
  Coded coded(shape);
  std::fill(coded.bases.begin(), coded.bases.end(), std::numeric_limits<std::int64_t>::max());
  coded.places.fill(std::numeric_limits<std::int64_t>::max());
  std::vector<std::int64_t> x(shape.count);
  decode_pool_indices(coded.parts(), shape, x.data(), 2);
  CHECK(x[0] == -2);
}

}  // namespace
}  // namespace halfbyte::tensor

int main() {
  using namespace halfbyte::tensor;
  constexpr std::size_t kLong = (1 << 16) * 2;
  for (const PoolShape shape : {PoolShape{64 * 9, 9, 1}, PoolShape{5 * 49, 49, 1}, PoolShape{kLong + 21, 7, 1},
                                PoolShape{3 * 9 * 40, 9, 40}, PoolShape{kLong / 8 * 15, 16, kLong / 128}}) {
    test_indices_come_back(shape, 9, 8);
    test_indices_come_back(shape, 9, 130);
    test_indices_come_back(shape, 16, kFarthestPlace);
    test_indices_come_back(shape, 2, 1);
    test_refused(shape, 17, 16);
    test_refused(shape, 9, kFarthestPlace + 1);
    test_extremes(shape);
    test_any_bytes(shape);
  }
  return halfbyte::test::result();
}
