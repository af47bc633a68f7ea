#include "tensor/channels.hpp"

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "tensor/parallel.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::size_t kPiece = 1 << 16;   // elements
constexpr std::size_t kShort = 64;        // planes of fewer elements go by columns when there are many of each channel
constexpr std::size_t kMany = 16;
constexpr std::size_t kColumns = 2048;    // of a block
constexpr std::size_t kBlock = 1 << 17;   // elements of a block

void raise(std::atomic_ref<std::uint32_t> max, std::uint32_t value) {
  std::uint32_t old = max.load(std::memory_order_relaxed);
  while (value > old && !max.compare_exchange_weak(old, value, std::memory_order_relaxed)) {
  }
}

struct Ranges {
  const ChannelKernels& kernels;
  const char* x;
  std::size_t size_of_element, count, channels, inner;
  std::vector<std::uint32_t> max_bits;
  std::uint32_t with_sign = 0;

  void by_planes(int num_threads) {
    parallel_for(num_threads, (count + kPiece - 1) / kPiece, [&](std::size_t piece) {
      const std::size_t first = piece * kPiece;
      raise(std::atomic_ref(with_sign), kernels.planes(x, first, std::min(kPiece, count - first), channels, inner,
                                                       max_bits.data()));
    });
  }

  [[nodiscard]] bool none_below_zero(Element element) const {
    constexpr std::uint32_t kInfinity[] = {0x7f800000, 0x7f80, 0x7c00};
    const std::uint32_t minus_zero = element == Element::float32 ? 0x80000000 : 0x8000;
    const auto is_nan = [&](std::uint32_t bits) { return bits > kInfinity[static_cast<int>(element)]; };
    return with_sign <= minus_zero && std::none_of(max_bits.begin(), max_bits.end(), is_nan);
  }

  // The array as a matrix of whole channels, or of several times all of them where they are few.
  void by_columns(int num_threads) {
    const std::size_t period = channels * inner;
    const std::size_t width = period * std::max<std::size_t>(kColumns / period, 1);
    const std::size_t across = (width + kColumns - 1) / kColumns;
    const std::size_t rows_of_block = kBlock / std::min(width, kColumns);
    const std::size_t rows = (count + width - 1) / width;
    parallel_for(num_threads, across * ((rows + rows_of_block - 1) / rows_of_block), [&](std::size_t block) {
      const std::size_t row = block / across * rows_of_block;
      block_of_columns(row, std::min(rows_of_block, rows - row), block % across * kColumns, width);
    });
  }

  void block_of_columns(std::size_t row, std::size_t rows, std::size_t column, std::size_t width) {
    std::uint32_t max[kColumns] = {};
    const std::size_t begin = row * width + column;
    const std::size_t block_width = std::min(kColumns, width - column);
    const bool cut = begin + (rows - 1) * width + block_width > count;  // by the end of the array, in the last row
    const std::size_t whole = cut ? rows - 1 : rows;
    std::uint32_t largest = kernels.columns(x + begin * size_of_element, whole, width, block_width, max);
    if (cut) {
      const std::size_t last = begin + whole * width;
      largest = std::max(largest, kernels.columns(x + last * size_of_element, 1, width, count - last, max));
    }
    raise(std::atomic_ref(with_sign), largest);
    fold(max, block_width, column);
  }

  void fold(std::uint32_t* max, std::size_t block_width, std::size_t column) {
    const std::size_t period = channels * inner;
    for (std::size_t j = block_width; j-- > period;) max[j - period] = std::max(max[j - period], max[j]);
    const std::size_t used = std::min(block_width, period);
    std::size_t channel = column / inner;
    std::size_t left = inner - column % inner;
    for (std::size_t j = 0; j < used; ++channel, left = inner) {
      const std::size_t end = std::min(used, j + left);
      raise(std::atomic_ref(max_bits[channel]), *std::max_element(max + j, max + end));
      j = end;
    }
  }
};

}  // namespace

bool channel_ranges(const void* x, Element element, std::size_t outer, std::size_t channels, std::size_t inner,
                    float* max_abs, int num_threads) {
  if (channels == 1) inner *= std::exchange(outer, 1);
  const ChannelKernels& kernels = channel_kernels().of[static_cast<int>(element)];
  Ranges ranges{.kernels = kernels,
                .x = static_cast<const char*>(x),
                .size_of_element = size_of(element),
                .count = outer * channels * inner,
                .channels = channels,
                .inner = inner,
                .max_bits = std::vector<std::uint32_t>(channels)};
  const bool by_columns = inner == 1 || (inner < kShort && outer >= kMany);
  if (ranges.count > 0) by_columns ? ranges.by_columns(num_threads) : ranges.by_planes(num_threads);
  kernels.to_float(ranges.max_bits.data(), channels, max_abs);
  return ranges.none_below_zero(element);
}

}  // namespace halfbyte::tensor
