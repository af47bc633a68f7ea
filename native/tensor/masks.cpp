#include "tensor/masks.hpp"

#include <atomic>
#include <bit>

#include "tensor/pieces.hpp"

namespace halfbyte::tensor {
namespace {

// Kernels handle masks as words, whose lowest bits must be those of the first byte.
static_assert(std::endian::native == std::endian::little);

template <class T>
void pack(void (*kernel)(const T*, std::size_t, std::uint8_t*), const void* x, std::size_t count, std::uint8_t* bits,
          int num_threads) {
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    kernel(static_cast<const T*>(x) + first, length, bits + first / 8);
  });
}

template <class T>
bool pack_positive(bool (*kernel)(const T*, std::size_t, std::uint8_t*), const void* x, std::size_t count,
                   std::uint8_t* bits, int num_threads) {
  std::atomic<bool> nans{false};
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    if (kernel(static_cast<const T*>(x) + first, length, bits + first / 8)) nans.store(true, std::memory_order_relaxed);
  });
  return nans;
}

template <class T>
void unpack(void (*kernel)(const std::uint8_t*, std::size_t, T, T*), const std::uint8_t* bits, std::size_t count,
            std::uint32_t pattern, void* out, int num_threads) {
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    kernel(bits + first / 8, length, static_cast<T>(pattern), static_cast<T*>(out) + first);
  });
}

template <class T>
void apply(void (*kernel)(const std::uint8_t*, std::size_t, T*), const std::uint8_t* bits, std::size_t count, void* x,
           int num_threads) {
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    kernel(bits + first / 8, length, static_cast<T*>(x) + first);
  });
}

}  // namespace

bool pack_positive(const void* x, Element element, std::size_t count, std::uint8_t* bits, int num_threads) {
  const MaskKernels& kernels = mask_kernels();
  switch (element) {
    case Element::float32: return pack_positive(kernels.positive_float32, x, count, bits, num_threads);
    case Element::bfloat16: return pack_positive(kernels.positive_bfloat16, x, count, bits, num_threads);
    case Element::float16: return pack_positive(kernels.positive_float16, x, count, bits, num_threads);
  }
  return false;
}

void pack_nonzero(const void* x, std::size_t width, std::size_t count, std::uint8_t* bits, int num_threads) {
  const MaskKernels& kernels = mask_kernels();
  switch (width) {
    case 1: return pack(kernels.nonzero_8, x, count, bits, num_threads);
    case 2: return pack(kernels.nonzero_16, x, count, bits, num_threads);
    default: return pack(kernels.nonzero_32, x, count, bits, num_threads);
  }
}

void unpack_bits(const std::uint8_t* bits, std::size_t count, std::uint32_t pattern, std::size_t width, void* out,
                 int num_threads) {
  const MaskKernels& kernels = mask_kernels();
  switch (width) {
    case 1: return unpack(kernels.unpack_8, bits, count, pattern, out, num_threads);
    case 2: return unpack(kernels.unpack_16, bits, count, pattern, out, num_threads);
    default: return unpack(kernels.unpack_32, bits, count, pattern, out, num_threads);
  }
}

void apply_mask(const std::uint8_t* bits, std::size_t count, std::size_t width, void* x, int num_threads) {
  const MaskKernels& kernels = mask_kernels();
  if (width == 2) return apply(kernels.apply_16, bits, count, x, num_threads);
  apply(kernels.apply_32, bits, count, x, num_threads);
}

}  // namespace halfbyte::tensor
