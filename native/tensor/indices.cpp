#include "tensor/indices.hpp"

#include <algorithm>
#include <vector>

#include "tensor/pieces.hpp"

namespace halfbyte::tensor {

Range range_of(const void* x, Integer type, std::size_t count, int num_threads) {
  const auto kernel = index_kernels().range[static_cast<std::size_t>(type)];
  std::vector<Range> ranges(num_pieces(count));
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    ranges[first / kPiece] = kernel(static_cast<const std::byte*>(x) + first * size_of(type), length);
  });
  Range all = ranges[0];
  for (const Range& range : ranges) {
    all = {std::min(all.least, range.least), std::max(all.greatest, range.greatest)};
  }
  return all;
}

void convert_integers(const void* x, Integer from, std::size_t count, void* out, Integer to, int num_threads) {
  const auto kernel = index_kernels().convert[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)];
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    kernel(static_cast<const std::byte*>(x) + first * size_of(from), length,
           static_cast<std::byte*>(out) + first * size_of(to));
  });
}

}  // namespace halfbyte::tensor
