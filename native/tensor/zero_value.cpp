#include "tensor/zero_value.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "tensor/masks.hpp"
#include "tensor/pieces.hpp"

namespace halfbyte::tensor {
namespace {

// The kernels for a format: elements of 16 and 32 bits as they are, float32 as bfloat16 and as float16.
std::size_t kind_of(ZeroFormat format) {
  if (format.element != format.value) return format.value == Element::bfloat16 ? 2 : 3;
  return format.element == Element::float32 ? 1 : 0;
}

// Before which value every piece begins; the last number is that of all values.
std::vector<std::size_t> beginnings(const std::uint8_t* bits, std::size_t count, int num_threads) {
  const auto count_ones = zero_value_kernels().count_ones;
  std::vector<std::size_t> begin(num_pieces(count) + 1);
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    begin[first / kPiece + 1] = count_ones(bits + first / 8, length);
  });
  for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
  return begin;
}

bool padding_is_zero(const std::uint8_t* bits, std::size_t count) {
  return count % 8 == 0 || bits[count / 8] >> count % 8 == 0;
}

}  // namespace

ZeroScan scan_zeros(const void* x, Element element, std::size_t count, std::uint8_t* bits, int num_threads) {
  const ZeroValueKernels& kernels = zero_value_kernels();
  std::atomic<std::size_t> num_values{0};
  std::atomic<bool> negative{false};
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    const void* const piece = static_cast<const std::byte*>(x) + first * size_of(element);
    std::uint8_t* const own = bits + first / 8;
    const bool found = element == Element::float32
                           ? kernels.scan_32(piece, length, 0x7f800000, own)
                           : kernels.scan_16(piece, length, element == Element::bfloat16 ? 0x7f80 : 0x7c00, own);
    if (found) negative.store(true, std::memory_order_relaxed);
    num_values.fetch_add(kernels.count_ones(own, length), std::memory_order_relaxed);
  });
  return {.num_values = num_values, .negative = negative};
}

bool compact(const void* x, std::size_t count, const std::uint8_t* bits, ZeroFormat format, void* values,
             int num_threads) {
  const auto kernel = zero_value_kernels().compact[kind_of(format)];
  const std::vector<std::size_t> begin = beginnings(bits, count, num_threads);
  auto* const out = static_cast<std::byte*>(values);
  const std::size_t width = size_of(format.value);
  std::atomic<bool> finite{true};
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    const std::size_t piece = first / kPiece;
    const void* const elements = static_cast<const std::byte*>(x) + first * size_of(format.element);
    if (!kernel(elements, length, bits + first / 8, out + begin[piece] * width, out + begin[piece + 1] * width)) {
      finite.store(false, std::memory_order_relaxed);
    }
  });
  return finite;
}

bool expand(const std::uint8_t* bits, std::size_t count, const void* values, std::size_t num_values, ZeroFormat format,
            void* out, int num_threads) {
  const auto kernel = zero_value_kernels().expand[kind_of(format)];
  const std::vector<std::size_t> begin = beginnings(bits, count, num_threads);
  if (begin.back() != num_values || !padding_is_zero(bits, count)) return false;
  const auto* const in = static_cast<const std::byte*>(values);
  const std::size_t width = size_of(format.value);
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    const std::size_t piece = first / kPiece;
    kernel(bits + first / 8, length, in + begin[piece] * width, in + begin[piece + 1] * width,
           static_cast<std::byte*>(out) + first * size_of(format.element));
  });
  return true;
}

}  // namespace halfbyte::tensor
