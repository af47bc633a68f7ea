#include "tensor/group_quantize.hpp"

#include <atomic>

#include "tensor/pieces.hpp"

namespace halfbyte::tensor {
namespace {

// The sum of work(first element, first group, elements) over pieces of whole groups.
template <class Work>
std::size_t sum_of_pieces(std::size_t count, GroupFormat format, int num_threads, const Work& work) {
  const std::size_t groups = kPiece / format.group;
  const std::size_t piece = groups * format.group;
  std::atomic<std::size_t> sum{0};
  parallel_for(num_threads, (count + piece - 1) / piece, [&](std::size_t i) {
    sum += work(i * piece, i * groups, std::min(piece, count - i * piece));
  });
  return sum;
}

}  // namespace

std::size_t encode_groups(const void* x, Element element, std::size_t count, GroupFormat format, Rounding rounding,
                          const GroupParts& parts, int num_threads) {
  const auto kernel = group_kernels().encode[static_cast<std::size_t>(element)];
  const std::size_t size = size_of(element);
  return sum_of_pieces(count, format, num_threads, [&](std::size_t first, std::size_t group, std::size_t length) {
    return kernel(static_cast<const std::byte*>(x) + first * size, length, format, first, rounding,
                  {.codes = parts.codes + code_bytes(first, format.bits),
                   .least = static_cast<std::byte*>(parts.least) + group * size,
                   .steps = parts.steps + group});
  });
}

std::size_t decode_groups(const GroupView& parts, Element element, std::size_t count, GroupFormat format, void* x,
                          int num_threads) {
  const auto kernel = group_kernels().decode[static_cast<std::size_t>(element)];
  const std::size_t size = size_of(element);
  return sum_of_pieces(count, format, num_threads, [&](std::size_t first, std::size_t group, std::size_t length) {
    return kernel({.codes = parts.codes + code_bytes(first, format.bits),
                   .least = static_cast<const std::byte*>(parts.least) + group * size,
                   .steps = parts.steps + group},
                  length, format, static_cast<std::byte*>(x) + first * size);
  });
}

}  // namespace halfbyte::tensor
