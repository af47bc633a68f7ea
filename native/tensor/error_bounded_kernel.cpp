#include "tensor/error_bounded.hpp"
#include "tensor/group_codes.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

constexpr float kGreatest = 0x1p22f;  // of |q|

inline Words load_integers(const std::uint32_t* p) {
  Words v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
inline void store_integers(std::uint32_t* p, Words v) { std::memcpy(p, &v, sizeof v); }

// Rounds to the type of elements.
inline Lanes as_held(Lanes v, float) { return v; }
template <class T>
Lanes as_held(Lanes v, T) {
  T elements[kLanes];
  store(elements, v);
  return load(elements);
}

inline Lanes magnitude(Lanes v) { return (Lanes)((Words)v & 0x7fffffffu); }

// What an integer >= 0 stands for.
inline Lanes value_of(Lanes q, const Grid& grid) {
  return q * splat(grid.step) - (Lanes)((Ints)(q > Lanes{}) & (Ints)splat(grid.shift));
}

// Ones where the lane is an integer that gives x >= 0 back within the bound, zeros where it does not or is NaN.
template <class T>
Ints fits(Lanes x, Lanes q, const Grid& grid) {
  const Lanes held = as_held(value_of(q, grid), T{});
  const Ints near = (Ints)(magnitude(x - held) <= splat(grid.bound)) & (Ints)(q <= splat(kGreatest));
  const Ints has_shift = (Ints)(splat(grid.shift) > Lanes{});
  return near & ~(has_shift & ((Ints)(held > Lanes{}) ^ (Ints)(x > Lanes{})));
}

#if defined(__AVX512F__)
inline std::uint32_t lanes_without(Ints v) { return static_cast<__mmask16>(~_mm512_movepi32_mask((__m512i)v)); }
#elif defined(__AVX2__)
inline std::uint32_t lanes_without(Ints v) {
  return static_cast<std::uint32_t>(_mm256_movemask_ps((__m256)v)) ^ 0xffu;
}
#else
inline std::uint32_t lanes_without(Ints v) {
  return ~static_cast<std::uint32_t>((v[0] & 1) | (v[1] & 2) | (v[2] & 4) | (v[3] & 8)) & 15u;
}
#endif

template <class T>
std::size_t quantize(const void* elements, std::size_t count, const Grid& grid, std::uint32_t* q,
                     std::uint16_t* outliers) {
  const T* const x = static_cast<const T*>(elements);
  const Lanes half = splat(grid.shift > 0 ? 0.5F : 0.0F);
  std::size_t found = 0;
  const auto lanes = [&](std::size_t i, Lanes v, std::size_t n) {
    const Lanes size = magnitude(v);
    const Lanes rounded = nearest(size * splat(grid.inverse) + half);
    const Ints good = fits<T>(size, rounded, grid);
    const Ints sign = (Ints)v & (Ints)splat(-0.0F);
    store_integers(q + i, (Words)truncated((Lanes)(((Ints)rounded | sign) & good)));
    for (std::uint32_t bad = lanes_without(good) & ((1u << n) - 1); bad != 0; bad &= bad - 1) {
      outliers[found++] = static_cast<std::uint16_t>(i + static_cast<std::size_t>(__builtin_ctz(bad)));
    }
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) lanes(i, load(x + i), kLanes);
  if (i < count) lanes(i, load_part(x + i, count - i), count - i);
  return found;
}

template <class T>
void dequantize(const std::uint32_t* q, std::size_t count, const Grid& grid, void* elements) {
  T* const x = static_cast<T*>(elements);
  const auto values = [&](std::size_t i) {
    const Lanes signed_q = floats((Ints)load_integers(q + i));
    const Ints sign = (Ints)signed_q & (Ints)splat(-0.0F);
    return (Lanes)((Ints)value_of(magnitude(signed_q), grid) | sign);
  };
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) store(x + i, values(i));
  if (i < count) store_part(x + i, values(i), count - i);
}

void difference(const std::uint32_t* q, std::size_t count, std::size_t lag, std::uint32_t* d) {
  std::size_t i = 0;
  for (; i < lag && i < count; ++i) d[i] = q[i];
  for (; i + kLanes <= count; i += kLanes) store_integers(d + i, load_integers(q + i) - load_integers(q + i - lag));
  for (; i < count; ++i) d[i] = q[i] - q[i - lag];
}

void integrate(std::uint32_t* d, std::size_t count, std::size_t lag) {
  if (lag == 1) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < count; ++i) d[i] = sum += d[i];
    return;
  }
  std::size_t i = lag;
  if (lag >= kLanes) {
    for (; i + kLanes <= count; i += kLanes) store_integers(d + i, load_integers(d + i) + load_integers(d + i - lag));
  }
  for (; i < count; ++i) d[i] += d[i - lag];
}

bool has_sign(const std::uint32_t* d, std::size_t count) {
  Words any = Words{};
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) any |= load_integers(d + i);
  std::uint32_t sign = 0;
  for (; i < count; ++i) sign |= d[i];
  for (std::size_t k = 0; k < kLanes; ++k) sign |= any[k];
  return sign >> 31 != 0;
}

inline Words without_sign(Words d) { return d << 1 ^ (Words)((Ints)d >> 31); }
inline Words with_sign(Words u) { return u >> 1 ^ -(u & 1); }

// The bits of a float begin with its exponent; those of u below the highest three must not round it up.
inline Words symbols_of(Words u) {
  const Words classes = ((Words)floats((Ints)(u & ~31u)) >> 21) - ((127 + 7) * 4 - 128);
  const Words small = (Words)(u < 128);
  return (u & small) | (classes & ~small);
}

bool to_bytes(std::uint32_t* d, std::size_t count, bool has_sign, std::uint8_t* bytes) {
  Words any = Words{};
  for (std::size_t i = count; i % kCodesAtOnce != 0; ++i) d[i] = 0;
  for (std::size_t i = 0; i < count; i += kCodesAtOnce) {
    Codes symbols;
    for (std::size_t k = 0; k < kCodesAtOnce / kLanes; ++k) {
      Words u = load_integers(d + i + k * kLanes);
      if (has_sign) store_integers(d + i + k * kLanes, u = without_sign(u));
      any |= u;
      symbols[k] = (Ints)symbols_of(u);
    }
    store_codes<8>(bytes + i, symbols);
  }
  std::uint32_t all = 0;
  for (std::size_t k = 0; k < kLanes; ++k) all |= any[k];
  return all > 127;
}

void from_bytes(const std::uint8_t* bytes, std::size_t count, std::uint32_t* u) {
  for (std::size_t i = 0; i < count; i += kLanes) store_integers(u + i, (Words)load_codes<8>(bytes, i));
}

void give_sign(std::uint32_t* u, std::size_t count) {
  for (std::size_t i = 0; i < count; i += kLanes) store_integers(u + i, with_sign(load_integers(u + i)));
}

}  // namespace

const ErrorBoundedKernels error_bounded_kernels = {
    .quantize = {quantize<float>, quantize<BFloat16>, quantize<Float16>},
    .dequantize = {dequantize<float>, dequantize<BFloat16>, dequantize<Float16>},
    .difference = difference,
    .integrate = integrate,
    .has_sign = has_sign,
    .to_bytes = to_bytes,
    .from_bytes = from_bytes,
    .give_sign = give_sign,
};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
