#include "tensor/masks.hpp"

#include <algorithm>

#include "tensor/parallel.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::size_t kPiece = 1 << 16;  // elements; a multiple of 64, so that pieces share no byte of a mask

}  // namespace

void pack_positive(const void* x, Element, std::size_t count, std::uint8_t* bits, int num_threads) {
  const MaskKernels& kernels = mask_kernels();
  parallel_for(num_threads, (count + kPiece - 1) / kPiece, [&](std::size_t piece) {
    const std::size_t first = piece * kPiece;
    kernels.positive_float32(static_cast<const float*>(x) + first, std::min(kPiece, count - first), bits + first / 8);
  });
}

}  // namespace halfbyte::tensor
