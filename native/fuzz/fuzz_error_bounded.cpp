// Any bytes as what the error-bounded codec made of a tensor: refused, or some tensor. And as a tensor, which comes
// back within its bound, and does no harm after some of its coded bytes were changed. The last bytes say
// how.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "tensor/error_bounded.hpp"

using namespace halfbyte;
using fuzz::require;

namespace {

constexpr int kThreads = 1;
constexpr std::size_t kChoices = 5;

tensor::ErrorBoundedFormat format_of(const std::uint8_t* choices, tensor::Coder coder) {
  const float bound = std::ldexp(1.0F, choices[1] % 32 - 20);
  tensor::ErrorBoundedFormat format{.element = static_cast<tensor::Element>(choices[0] % 3),
                                    .coder = coder,
                                    .grid = {.bound = bound,
                                             .step = 2 * bound,
                                             .inverse = 0.5F / bound,
                                             .shift = choices[1] & 32 ? bound : 0},
                                    .lorenzo = {}};
  for (int i = 0; i < choices[2] % 4; ++i) format.lorenzo.lags[i] = std::size_t{1} << (choices[2] / 4 % 8 * i);
  return format;
}

struct Coded {
  std::vector<std::int32_t> sizes;
  std::vector<std::uint8_t> bytes;
};

bool decode(const Coded& coded, std::size_t count, const tensor::ErrorBoundedFormat& format,
            std::vector<std::byte>& x) {
  x.assign(count * size_of(format.element), std::byte{});
  const std::vector<std::uint8_t> exact(coded.bytes);  // of just their size, for the sanitizer
  return tensor::error_bounded_decode(exact, coded.sizes.data(), count, format, x.data(), kThreads);
}

void decode_anything(std::span<const std::uint8_t> data, std::size_t count, const tensor::ErrorBoundedFormat& format) {
  Coded coded{.sizes = {}, .bytes = {data.begin(), data.end()}};
  const std::size_t pieces = tensor::num_pieces(count);
  for (std::size_t i = 0; i < pieces; ++i) {
    coded.sizes.push_back(static_cast<std::int32_t>(data.size() / pieces + (i == 0 ? data.size() % pieces : 0)));
  }
  std::vector<std::byte> x;
  (void)decode(coded, count, format, x);
}

void check_bound(std::span<const std::uint8_t> data, const std::vector<std::byte>& decoded, const tensor::Grid& grid) {
  for (std::size_t i = 0; i + 4 <= decoded.size(); i += 4) {
    float x, y;
    std::memcpy(&x, data.data() + i, 4);
    std::memcpy(&y, decoded.data() + i, 4);
    if (std::isfinite(x)) {
      require(std::abs(double{x} - double{y}) <= grid.bound, "elements are within the bound");
      require(grid.shift == 0 || (x > 0) == (y > 0), "signs are kept where there is a shift");
    } else {
      require(std::memcmp(&x, &y, 4) == 0, "what is not finite is exact");
    }
  }
}

void go_there_and_back(std::span<const std::uint8_t> data, const tensor::ErrorBoundedFormat& format,
                       std::span<const std::uint8_t> changes) {
  const std::size_t count = data.size() / size_of(format.element);
  Coded coded{.sizes = std::vector<std::int32_t>(tensor::num_pieces(count)), .bytes = {}};
  coded.bytes.resize(tensor::error_bounded_encode(data.data(), count, format, coded.sizes.data(), kThreads).bytes);
  tensor::error_bounded_gather(coded.bytes.data(), kThreads);
  std::vector<std::byte> x;
  require(decode(coded, count, format, x), "what was coded can be decoded");
  if (format.element == tensor::Element::float32) check_bound(data, x, format.grid);
  for (std::size_t i = 0; i + 3 <= changes.size() && !coded.bytes.empty(); i += 3) {
    coded.bytes[(changes[i] | std::size_t{changes[i + 1]} << 8) % coded.bytes.size()] = changes[i + 2];
    (void)decode(coded, count, format, x);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kChoices) return 0;
  const std::span rest(data, size - kChoices);
  const std::uint8_t* const choices = data + rest.size();
  const std::size_t changes = std::min<std::size_t>(rest.size() / 2, 3U * (choices[3] % 32));
  for (const tensor::Coder coder : {tensor::Coder::huffman, tensor::Coder::fixed}) {
    const tensor::ErrorBoundedFormat format = format_of(choices, coder);
    decode_anything(rest, choices[3] | std::size_t{choices[4]} << 8, format);
    go_there_and_back(rest.first(rest.size() - changes), format, rest.last(changes));
  }
  return 0;
}
