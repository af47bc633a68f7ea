// The scale of a group of elements, as group_quantize.hpp says it. For *_kernel.cpp files only, like lanes.hpp.
#pragma once

#include "tensor/group_codes.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// From here on a float becomes infinite as an element.
template <class T>
constexpr float kOverflow = __builtin_inff();
template <>
constexpr float kOverflow<BFloat16> = 0x1.ffp127f;
template <>
constexpr float kOverflow<Float16> = 65520;

#if defined(__AVX512F__)
inline Lanes lesser(Lanes a, Lanes b) { return _mm512_min_ps(a, b); }
inline Lanes greater(Lanes a, Lanes b) { return _mm512_max_ps(a, b); }
inline bool any_nan(Lanes a, Lanes b) { return _mm512_cmp_ps_mask(a, b, _CMP_UNORD_Q) != 0; }
inline float least_of(Lanes v) { return _mm512_reduce_min_ps(v); }
#elif defined(__AVX2__)
inline Lanes lesser(Lanes a, Lanes b) { return _mm256_min_ps(a, b); }
inline Lanes greater(Lanes a, Lanes b) { return _mm256_max_ps(a, b); }
inline bool any_nan(Lanes a, Lanes b) { return _mm256_movemask_ps(_mm256_cmp_ps(a, b, _CMP_UNORD_Q)) != 0; }
inline float least_of(Lanes v) {
  __m128 m = _mm_min_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
  m = _mm_min_ps(m, _mm_movehl_ps(m, m));
  return _mm_cvtss_f32(_mm_min_ss(m, _mm_movehdup_ps(m)));
}
#else
inline Lanes lesser(Lanes a, Lanes b) { return a < b ? a : b; }
inline Lanes greater(Lanes a, Lanes b) { return a > b ? a : b; }
inline bool any_nan(Lanes a, Lanes b) {
  const Ints unordered = (a != a) | (b != b);
  return (unordered[0] | unordered[1] | unordered[2] | unordered[3]) != 0;
}
inline float least_of(Lanes v) {
  const float a = v[0] < v[1] ? v[0] : v[1];
  const float b = v[2] < v[3] ? v[2] : v[3];
  return a < b ? a : b;
}
#endif

struct Extent {
  float least;
  float greatest;
  bool nan;
};

// Of n > 0 elements, n a multiple of 32. Zeros are positive: which sign the least of 0 and -0 has depends on the order.
template <class T>
Extent extent_of(const T* x, std::size_t n) {
  Lanes low[2] = {load(x), load(x + kLanes)};
  Lanes high[2] = {low[0], low[1]};
  Lanes sum[2] = {low[0], low[1]};  // NaN stays in a sum, but not in a least or greatest
  for (std::size_t i = 2 * kLanes; i < n; i += 2 * kLanes) {
    for (std::size_t k = 0; k < 2; ++k) {
      const Lanes v = load(x + i + k * kLanes);
      low[k] = lesser(v, low[k]);
      high[k] = greater(v, high[k]);
      sum[k] += v;
    }
  }
  return {.least = least_of(lesser(low[0], low[1])) + 0.0f,
          .greatest = -least_of(-greater(high[0], high[1])) + 0.0f,
          .nan = any_nan(sum[0], sum[1])};
}

struct Scale {
  float least;
  float step;
  float inverse;
  bool sound;  // else the group is kept elsewhere
};

template <class T>
Scale scale_of(const Extent& extent, float levels) {
  const float exact = (extent.greatest - extent.least) / levels;
  float step = float_of((bits_of(exact) + 0xffffu) & 0xffff0000u);
  // The inverse of a smaller one could be infinite.
  const bool normal = !(step < 0x1p-126f);
  if (!normal) step = 0;
  return {.least = extent.least,
          .step = step,
          .inverse = normal ? 1 / step : 0,
          .sound = !extent.nan && extent.least + levels * step < kOverflow<T>};
}

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
