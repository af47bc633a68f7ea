// Error-bounded coding on every instruction set, in buffers of exactly their size: codes that no other beats, planes of
// bytes and tensors that come back, and bytes that were changed at random.
#include "tensor/error_bounded.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "check.hpp"
#include "tensor/byte_plane.hpp"
#include "tensor/code_lengths.hpp"

namespace halfbyte::tensor {
namespace {

constexpr int kThreads = 2;

std::mt19937 random_numbers(5);

// The fewest bits of any code with at most `most_bits` bits a word: lengths are tried one by one, the rarest byte
// first, which has the longest word. `room` is what is left of 1, in units of what the longest word takes.
std::uint64_t fewest_bits(std::span<const std::uint32_t> sorted, unsigned longest, unsigned most_bits,
                          std::uint64_t room) {
  if (sorted.empty()) return 0;
  std::uint64_t best = ~std::uint64_t{0} / 2;
  for (unsigned length = 1; length <= longest; ++length) {
    const std::uint64_t own = std::uint64_t{1} << (most_bits - length);
    if (own > room) continue;
    best = std::min(best, std::uint64_t{sorted[0]} * length +
                              fewest_bits(sorted.subspan(1), length, most_bits, room - own));
  }
  return best;
}

void test_no_code_is_better(std::size_t bytes, unsigned most_bits) {
  ByteCounts counts{};
  std::vector<std::uint32_t> sorted;
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint32_t count = 1 + random_numbers() % (1U << random_numbers() % 12);
    counts[(i * 37 + 5) % 256] = count;
    sorted.push_back(count);
  }
  std::sort(sorted.begin(), sorted.end());
  const CodeLengths lengths = best_lengths(counts, most_bits);
  std::uint64_t bits = 0;
  double kraft = 0;
  for (std::size_t byte = 0; byte < 256; ++byte) {
    CHECK((lengths[byte] != 0) == (counts[byte] != 0) && lengths[byte] <= most_bits);
    bits += std::uint64_t{counts[byte]} * lengths[byte];
    kraft += lengths[byte] == 0 ? 0 : std::ldexp(1.0, -lengths[byte]);
  }
  CHECK(kraft == 1);
  CHECK(is_complete(lengths));
  CHECK(bits == fewest_bits(sorted, most_bits, most_bits, std::uint64_t{1} << most_bits));
}

// Words of a code: none is the beginning of another, and shorter ones come first.
void test_words(const CodeLengths& lengths) {
  const std::array<CodeWord, 256> words = code_words(lengths);
  std::vector<std::pair<unsigned, unsigned>> spans;
  for (const CodeWord& word : words) {
    if (word.length == 0) continue;
    const unsigned rest = kMostCodeBits - word.length;
    spans.emplace_back(unsigned{word.bits} << rest, (word.bits + 1U) << rest);
  }
  std::sort(spans.begin(), spans.end());
  unsigned end = 0;
  for (const auto& [first, last] : spans) {
    CHECK(first == end);
    end = last;
  }
  CHECK(end == 1U << kMostCodeBits);
}

void test_codes() {
  for (std::size_t bytes = 2; bytes <= 8; ++bytes) {
    for (unsigned most_bits = 3; most_bits <= 8; ++most_bits) test_no_code_is_better(bytes, most_bits);
  }
  ByteCounts fibonacci{};  // whose code would have 39 bits
  std::uint32_t a = 1, b = 1;
  for (int i = 0; i < 40; ++i, std::swap(a, b), b += a) fibonacci[i] = a;
  test_words(best_lengths(fibonacci));
  ByteCounts all;
  all.fill(7);
  test_words(best_lengths(all));
  CHECK(best_lengths(all)[99] == 8);
}

std::vector<std::uint8_t> some_bytes(std::size_t count, unsigned zeros_of_16, unsigned greatest) {
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) {
    const unsigned r = random_numbers();
    if (r % 16 >= zeros_of_16) byte = static_cast<std::uint8_t>(std::min(r >> 8 & 255, r >> 16 & 255) % (greatest + 1));
  }
  return bytes;
}

std::vector<std::uint8_t> encoded(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::uint8_t> out(plane_room(bytes.size()));
  out.resize(static_cast<std::size_t>(encode_plane(bytes, out.data()) - out.data()));
  return {out.begin(), out.end()};
}

bool decodes(const std::vector<std::uint8_t>& coded, std::vector<std::uint8_t>& bytes, std::size_t count) {
  bytes.assign(count + 64, 0);
  ByteView in(coded);
  const bool sound = decode_plane(in, bytes.data(), count) && in.empty();
  bytes.resize(count);
  return sound;
}

void test_plane(const std::vector<std::uint8_t>& bytes) {
  const std::vector<std::uint8_t> coded = encoded(bytes);
  CHECK(coded.size() <= bytes.size() + 2);
  std::vector<std::uint8_t> decoded;
  CHECK(decodes(coded, decoded, bytes.size()));
  CHECK(decoded == bytes);
}

void test_planes() {
  for (std::size_t count = 0; count < 300; count += 1 + count / 20) {
    for (const unsigned zeros : {0U, 6U, 12U, 16U}) {
      for (const unsigned greatest : {1U, 20U, 255U}) test_plane(some_bytes(count, zeros, greatest));
    }
  }
  for (const unsigned zeros : {0U, 4U, 8U, 15U, 16U}) {
    test_plane(some_bytes(kMostPlane, zeros, 30));
    test_plane(some_bytes(kMostPlane - 13, zeros, 255));
  }
  CHECK(encoded(std::vector<std::uint8_t>(kMostPlane)).size() == 2);
}

template <class Bytes>
void change(Bytes& bytes) {
  for (unsigned n = 1 + random_numbers() % 3; n > 0; --n) {
    bytes[random_numbers() % bytes.size()] ^= static_cast<typename Bytes::value_type>(1U << random_numbers() % 8);
  }
}

void test_damaged_planes() {
  for (const unsigned zeros : {0U, 8U, 14U}) {
    const std::vector<std::uint8_t> coded = encoded(some_bytes(3000, zeros, 40));
    std::vector<std::uint8_t> decoded;
    int refused = 0;
    for (int turn = 0; turn < 300; ++turn) {
      std::vector<std::uint8_t> damaged = coded;
      change(damaged);
      refused += !decodes(damaged, decoded, 3000);
    }
    CHECK(refused > 20);
    for (std::size_t size = 0; size < coded.size(); size += 1 + size / 8) {
      CHECK(!decodes({coded.begin(), coded.begin() + static_cast<std::ptrdiff_t>(size)}, decoded, 3000));
    }
  }
}

ErrorBoundedFormat format_of(Coder coder, int lags, bool signs) {
  ErrorBoundedFormat format{.element = Element::float32,
                            .coder = coder,
                            .grid = {.bound = 0.0625F, .step = 0.125F, .inverse = 8, .shift = signs ? 0.0625F : 0},
                            .lorenzo = {}};
  const std::size_t all[3] = {1, 20, 400};
  std::copy_n(all, lags, format.lorenzo.lags);
  return format;
}

std::vector<float> some_elements(std::size_t count) {
  std::vector<float> x(count);
  for (std::size_t i = 0; i < count; ++i) {
    x[i] = 10 * std::sin(static_cast<float>(i % 20) / 7) + static_cast<float>(random_numbers() % 100) / 50 - 4;
    if (random_numbers() % 3 == 0) x[i] = 0;
    if (random_numbers() % 500 == 0) x[i] = std::ldexp(x[i], static_cast<int>(random_numbers() % 200) - 70);
    if (random_numbers() % 900 == 0) x[i] = random_numbers() % 2 == 0 ? NAN : -INFINITY;
  }
  return x;
}

struct Coded {
  std::vector<std::int32_t> sizes;
  std::vector<std::uint8_t> bytes;
};

Coded encoded(const std::vector<float>& x, const ErrorBoundedFormat& format) {
  Coded coded{.sizes = std::vector<std::int32_t>(num_pieces(x.size())), .bytes = {}};
  const ErrorBoundedSize size = error_bounded_encode(x.data(), x.size(), format, coded.sizes.data(), kThreads);
  coded.bytes = std::vector<std::uint8_t>(size.bytes);
  error_bounded_gather(coded.bytes.data(), kThreads);
  return coded;
}

bool decodes(const Coded& coded, std::vector<float>& x, const ErrorBoundedFormat& format) {
  return error_bounded_decode(coded.bytes, coded.sizes.data(), x.size(), format, x.data(), kThreads);
}

void test_tensor(std::size_t count, const ErrorBoundedFormat& format) {
  const std::vector<float> x = some_elements(count);
  std::vector<float> decoded(count);
  CHECK(decodes(encoded(x, format), decoded, format));
  bool within = true;
  for (std::size_t i = 0; i < count; ++i) {
    within = within && (std::isfinite(x[i]) ? std::abs(x[i] - decoded[i]) <= format.grid.bound
                                            : std::memcmp(&x[i], &decoded[i], 4) == 0);
    within = within && (format.grid.shift == 0 || (x[i] > 0) == (decoded[i] > 0));
  }
  CHECK(within);
  CHECK(choose_lags(x.data(), count, format, 0) <= 3);
}

void test_damaged_tensor(std::size_t count, const ErrorBoundedFormat& format) {
  const Coded coded = encoded(some_elements(count), format);
  std::vector<float> decoded(count);
  for (int turn = 0; turn < 100; ++turn) {
    Coded damaged = coded;
    change(damaged.bytes);
    (void)decodes(damaged, decoded, format);
    // The first bytes say how much there is.
    damaged.bytes[random_numbers() % 16] = static_cast<std::uint8_t>(random_numbers());
    (void)decodes(damaged, decoded, format);
    damaged = coded;
    damaged.sizes[0] += static_cast<std::int32_t>(1 + random_numbers() % 9) * (turn % 2 == 0 ? 1 : -1);
    CHECK(!decodes(damaged, decoded, format));
    if (damaged.sizes.size() < 2) continue;
    damaged.sizes[1] += coded.sizes[0] - damaged.sizes[0];  // together they are right
    CHECK(!decodes(damaged, decoded, format));
  }
}

}  // namespace
}  // namespace halfbyte::tensor

int main() {
  using namespace halfbyte;
  using namespace halfbyte::tensor;
  test_codes();
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    test_planes();
    test_damaged_planes();
    for (const Coder coder : {Coder::huffman, Coder::fixed}) {
      for (int lags = 0; lags <= 3; ++lags) {
        const ErrorBoundedFormat format = format_of(coder, lags, lags % 2 == 0);
        for (std::size_t count = 0; count < 1200; count += 1 + count / 6) test_tensor(count, format);
        test_tensor(2 * kPiece + 37, format);
        for (const std::size_t count : {std::size_t{30}, std::size_t{5000}, kPiece + 700}) {
          test_damaged_tensor(count, format);
        }
      }
    }
  }
  return halfbyte::test::result();
}
