#include "tensor/two_values.hpp"

#include <algorithm>
#include <atomic>

#include "tensor/pieces.hpp"

namespace halfbyte::tensor {
namespace {

template <class T>
std::optional<std::uint32_t> pack(bool (*kernel)(const T*, std::size_t, T, std::uint8_t*), const T* x,
                                  std::size_t count, std::uint8_t* bits, int num_threads) {
  const T* const other = std::find_if(x, x + count, [](T element) { return element != 0; });
  if (other == x + count) {
    if (bits != nullptr) std::fill_n(bits, (count + 7) / 8, std::uint8_t{0});
    return 0;
  }
  std::atomic<bool> fits{true};
  for_pieces(count, num_threads, [&, value = *other](std::size_t first, std::size_t length) {
    if (!fits.load(std::memory_order_relaxed)) return;
    std::uint8_t* const own = bits != nullptr ? bits + first / 8 : nullptr;
    if (!kernel(x + first, length, value, own)) fits.store(false, std::memory_order_relaxed);
  });
  return fits ? std::optional<std::uint32_t>(*other) : std::nullopt;
}

}  // namespace

std::optional<std::uint32_t> pack_two_values(const void* x, std::size_t width, std::size_t count, std::uint8_t* bits,
                                             int num_threads) {
  const TwoValuesKernels& kernels = two_values_kernels();
  if (width == 2) return pack(kernels.pack_16, static_cast<const std::uint16_t*>(x), count, bits, num_threads);
  return pack(kernels.pack_32, static_cast<const std::uint32_t*>(x), count, bits, num_threads);
}

}  // namespace halfbyte::tensor
