// The DCT of type II of up to 8 points and its inverse (type III), over vectors of any width: one transform a lane. For
// kernel files only. Every addition and multiplication is rounded by itself and comes in the order written here, so
// results are the same bits on every instruction set, and in reference/dct.py.
//
// 8 points go by the butterflies of Arai, Agui and Nakajima (1988): 29 additions and 5 multiplications, up to a factor
// for each coefficient that callers fold into what they multiply with anyway:
//
//   forward_dct8 gives  orthonormal[k] * kDctFactor[k]
//   inverse_dct8 wants  orthonormal[k] / 8 * kDctFactor[k]       kDctFactor[k] = sqrt(8), then 4 * cos(k * pi / 16)
//
// 1 to 7 points, for tiles that a map has no more lines or columns for, are orthonormal as they are. Even coefficients
// see a row folded by sums, odd ones by differences, and what is left of the matrix is half as wide.
#pragma once

#include "tensor/dct_basis.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

template <class V>
[[gnu::always_inline]] inline void forward_dct8(V* x) {
  const V s0 = x[0] + x[7], s1 = x[1] + x[6], s2 = x[2] + x[5], s3 = x[3] + x[4];
  const V d0 = x[0] - x[7], d1 = x[1] - x[6], d2 = x[2] - x[5], d3 = x[3] - x[4];
  const V outer = s0 + s3, inner = s1 + s2, across = s0 - s3;
  const V turned = (across + (s1 - s2)) * 0.70710678118654752f;
  x[0] = outer + inner;
  x[4] = outer - inner;
  x[2] = across + turned;
  x[6] = across - turned;
  const V low = d3 + d2, middle = (d2 + d1) * 0.70710678118654752f, high = d1 + d0;
  const V shared = (low - high) * 0.38268343236508977f;
  const V slow = low * 0.54119610014619698f + shared, fast = high * 1.3065629648763766f + shared;
  const V plus = d0 + middle, minus = d0 - middle;
  x[1] = plus + fast;
  x[7] = plus - fast;
  x[5] = minus + slow;
  x[3] = minus - slow;
}

template <class V>
[[gnu::always_inline]] inline void inverse_dct8(V* x) {
  const V sum = x[0] + x[4], difference = x[0] - x[4], both = x[2] + x[6];
  const V rest = (x[2] - x[6]) * 1.4142135623730950f - both;
  const V e0 = sum + both, e3 = sum - both, e1 = difference + rest, e2 = difference - rest;
  const V inner = x[5] + x[3], inner_less = x[5] - x[3], outer = x[1] + x[7], outer_less = x[1] - x[7];
  const V shared = (inner_less + outer_less) * 1.8477590650225736f;
  const V o0 = outer + inner;
  const V o1 = (shared - inner_less * 2.6131259297527531f) - o0;
  const V o2 = (outer - inner) * 1.4142135623730950f - o1;
  const V o3 = (shared - outer_less * 1.0823922002923939f) - o2;
  x[0] = e0 + o0;
  x[7] = e0 - o0;
  x[1] = e1 + o1;
  x[6] = e1 - o1;
  x[2] = e2 + o2;
  x[5] = e2 - o2;
  x[3] = e3 + o3;
  x[4] = e3 - o3;
}

template <int kPoints, class V>
void forward_short(V* x, const float (*basis)[8]) {
  constexpr int kHalf = kPoints / 2, kEven = kPoints - kHalf;
  V sum[kEven], difference[kEven];
  for (int i = 0; i < kHalf; ++i) {
    sum[i] = x[i] + x[kPoints - 1 - i];
    difference[i] = x[i] - x[kPoints - 1 - i];
  }
  if (kEven > kHalf) sum[kHalf] = x[kHalf];
  for (int k = 0; k < kPoints; ++k) {
    const V* const folded = k % 2 == 0 ? sum : difference;
    V total = folded[0] * basis[k][0];
    for (int i = 1; i < (k % 2 == 0 ? kEven : kHalf); ++i) total = total + folded[i] * basis[k][i];
    x[k] = total;
  }
}

template <int kPoints, class V>
void inverse_short(V* x, const float (*basis)[8]) {
  constexpr int kHalf = kPoints / 2, kEven = kPoints - kHalf;
  V even[kEven], odd[kEven];
  for (int i = 0; i < kEven; ++i) {
    even[i] = x[0] * basis[0][i];
    for (int k = 2; k < kPoints; k += 2) even[i] = even[i] + x[k] * basis[k][i];
  }
  for (int i = 0; i < kHalf; ++i) {
    odd[i] = x[1] * basis[1][i];
    for (int k = 3; k < kPoints; k += 2) odd[i] = odd[i] + x[k] * basis[k][i];
  }
  for (int i = 0; i < kHalf; ++i) {
    x[i] = even[i] + odd[i];
    x[kPoints - 1 - i] = even[i] - odd[i];
  }
  if (kEven > kHalf) x[kHalf] = even[kHalf];
}

// x has 8 elements, of which the first `points` are transformed; the others are neither read nor written.
template <class V>
void forward_dct(V* x, int points, const DctBasis& basis) {
  switch (points) {
    case 8: return forward_dct8(x);
    case 7: return forward_short<7>(x, basis.of[7]);
    case 6: return forward_short<6>(x, basis.of[6]);
    case 5: return forward_short<5>(x, basis.of[5]);
    case 4: return forward_short<4>(x, basis.of[4]);
    case 3: return forward_short<3>(x, basis.of[3]);
    case 2: return forward_short<2>(x, basis.of[2]);
    default: return;  // one point is its own transform
  }
}

template <class V>
void inverse_dct(V* x, int points, const DctBasis& basis) {
  switch (points) {
    case 8: return inverse_dct8(x);
    case 7: return inverse_short<7>(x, basis.of[7]);
    case 6: return inverse_short<6>(x, basis.of[6]);
    case 5: return inverse_short<5>(x, basis.of[5]);
    case 4: return inverse_short<4>(x, basis.of[4]);
    case 3: return inverse_short<3>(x, basis.of[3]);
    case 2: return inverse_short<2>(x, basis.of[2]);
    default: return;
  }
}

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
