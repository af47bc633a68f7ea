// Eight registers of eight floats, or with AVX-512 of twice eight, transposed: in each eight, lane i of register j
// becomes lane j of register i. For kernel files only.
#pragma once

#include "tensor/lanes.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

#if defined(__AVX512F__)

[[gnu::always_inline]] inline void transpose_lanes(Lanes* v) {
  __m512 pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm512_unpacklo_ps(v[i], v[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_ps(v[i], v[i + 1]);
  }
  __m512 fours[8];  // four lanes of registers 0 to 3, then of 4 to 7
  for (int i = 0; i < 8; i += 4) {
    fours[i] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm512_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    fours[i + 2] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm512_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
  const __m512i even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
  for (int i = 0; i < 4; ++i) {
    const __m512d low = _mm512_castps_pd(fours[i]), high = _mm512_castps_pd(fours[i + 4]);
    v[i] = _mm512_castpd_ps(_mm512_permutex2var_pd(low, even, high));
    v[i + 4] = _mm512_castpd_ps(_mm512_permutex2var_pd(low, odd, high));
  }
}

#elif defined(__AVX2__)

[[gnu::always_inline]] inline void transpose_lanes(Lanes* v) {
  __m256 pairs[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = _mm256_unpacklo_ps(v[i], v[i + 1]);
    pairs[i + 1] = _mm256_unpackhi_ps(v[i], v[i + 1]);
  }
  __m256 fours[8];
  for (int i = 0; i < 8; i += 4) {
    fours[i] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0x44);
    fours[i + 1] = _mm256_shuffle_ps(pairs[i], pairs[i + 2], 0xee);
    fours[i + 2] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0x44);
    fours[i + 3] = _mm256_shuffle_ps(pairs[i + 1], pairs[i + 3], 0xee);
  }
  for (int i = 0; i < 4; ++i) {
    v[i] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x20);
    v[i + 4] = _mm256_permute2f128_ps(fours[i], fours[i + 4], 0x31);
  }
}

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
