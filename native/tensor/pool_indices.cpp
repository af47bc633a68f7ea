#include "tensor/pool_indices.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <vector>

#include "tensor/parallel.hpp"
#include "tensor/pieces.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::size_t kDistances = kFarthestPlace + 1;

// work(i, window) for every element, in runs whose windows follow each other or are one and the same.
template <class Work>
void for_windows(std::size_t first, std::size_t length, PoolShape shape, const Work& work) {
  const std::size_t last = first + length;
  for (std::size_t i = first; i < last;) {
    const std::size_t window = i / shape.repeat % shape.windows;
    const std::size_t room = shape.repeat == 1 ? shape.windows - window : shape.repeat - i % shape.repeat;
    const std::size_t n = std::min(room, last - i);
    if (shape.repeat == 1) {
      for (std::size_t k = 0; k < n; ++k) work(i + k, window + k);
    } else {
      for (std::size_t k = 0; k < n; ++k) work(i + k, window);
    }
    i += n;
  }
}

// The least index of every window. Each thread looks at a stretch of its own, and their findings are joined.
void find_bases(const std::int64_t* x, PoolShape shape, std::int64_t* bases, int num_threads) {
  const auto stretches = static_cast<std::size_t>(std::max(num_threads, 1));
  std::vector<std::vector<std::int64_t>> found(stretches);
  for (auto& own : found) own.assign(shape.windows, std::numeric_limits<std::int64_t>::max());
  const std::size_t length = (shape.count + stretches - 1) / stretches;
  parallel_for(num_threads, stretches, [&](std::size_t stretch) {
    const std::size_t first = std::min(stretch * length, shape.count);
    std::int64_t* const own = found[stretch].data();
    for_windows(first, std::min(length, shape.count - first), shape,
                [=](std::size_t i, std::size_t window) { own[window] = std::min(own[window], x[i]); });
  });
  std::copy(found[0].begin(), found[0].end(), bases);
  for (const auto& own : found) {
    for (std::size_t window = 0; window < shape.windows; ++window) bases[window] = std::min(bases[window], own[window]);
  }
}

std::uint64_t distance(std::int64_t index, std::int64_t base) {
  return static_cast<std::uint64_t>(index) - static_cast<std::uint64_t>(base);
}

// Which distances occur; false if one is too far.
bool find_distances(const std::int64_t* x, PoolShape shape, const std::int64_t* bases,
                    std::array<std::atomic<bool>, kDistances>& occurs, int num_threads) {
  std::atomic<bool> near{true};
  for_pieces(shape.count, num_threads, [&](std::size_t first, std::size_t length) {
    std::array<bool, kDistances> own{};
    std::uint64_t farthest = 0;
    for_windows(first, length, shape, [&](std::size_t i, std::size_t window) {
      const std::uint64_t d = distance(x[i], bases[window]);
      farthest = std::max(farthest, d);
      own[d % kDistances] = true;
    });
    if (farthest >= kDistances) near.store(false, std::memory_order_relaxed);
    for (std::size_t d = 0; d < kDistances; ++d) {
      if (own[d]) occurs[d].store(true, std::memory_order_relaxed);
    }
  });
  return near;
}

}  // namespace

bool encode_pool_indices(const std::int64_t* x, PoolShape shape, const PoolParts& parts, int num_threads) {
  find_bases(x, shape, parts.bases, num_threads);
  std::array<std::atomic<bool>, kDistances> occurs{};
  if (!find_distances(x, shape, parts.bases, occurs, num_threads)) return false;
  std::array<std::uint8_t, kDistances> code_of{};
  std::size_t places = 0;
  std::fill_n(parts.places, kMostPlaces, 0);
  for (std::size_t d = 0; d < kDistances; ++d) {
    if (!occurs[d]) continue;
    if (places == kMostPlaces) return false;
    code_of[d] = static_cast<std::uint8_t>(places);
    parts.places[places++] = static_cast<std::int64_t>(d);
  }
  for_pieces(shape.count, num_threads, [&](std::size_t first, std::size_t length) {
    std::array<std::uint8_t, kPiece> bytes;
    for_windows(first, length, shape, [&](std::size_t i, std::size_t window) {
      bytes[i - first] = code_of[distance(x[i], parts.bases[window])];
    });
    if (length % 2 != 0) bytes[length] = 0;
    std::uint8_t* const codes = parts.codes + first / 2;
    for (std::size_t k = 0; k < (length + 1) / 2; ++k) {
      codes[k] = static_cast<std::uint8_t>(bytes[2 * k] | bytes[2 * k + 1] << 4);
    }
  });
  return true;
}

void decode_pool_indices(const PoolParts& parts, PoolShape shape, std::int64_t* x, int num_threads) {
  for_pieces(shape.count, num_threads, [&](std::size_t first, std::size_t length) {
    const std::uint8_t* const codes = parts.codes + first / 2;
    std::array<std::uint8_t, kPiece> bytes;
    for (std::size_t k = 0; k < length; ++k) bytes[k] = codes[k / 2] >> k % 2 * 4 & 15;
    for_windows(first, length, shape, [&](std::size_t i, std::size_t window) {
      const auto place = static_cast<std::uint64_t>(parts.places[bytes[i - first]]);
      x[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(parts.bases[window]) + place);
    });
  });
}

}  // namespace halfbyte::tensor
