#include "tensor/masks.hpp"

#if defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

void positive_float32(const float* x, std::size_t count, std::uint8_t* bits) {
  std::size_t i = 0;
#if defined(__AVX512F__)
  for (; i + 16 <= count; i += 16) {
    const __mmask16 mask = _mm512_cmp_ps_mask(_mm512_loadu_ps(x + i), _mm512_setzero_ps(), _CMP_GT_OQ);
    std::memcpy(bits + i / 8, &mask, 2);
  }
#endif
  for (; i < count; ++i) {
    if (i % 8 == 0) bits[i / 8] = 0;
    bits[i / 8] = static_cast<std::uint8_t>(bits[i / 8] | (x[i] > 0 ? 1 << (i % 8) : 0));
  }
}

}  // namespace

const MaskKernels mask_kernels = {.positive_float32 = positive_float32};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
