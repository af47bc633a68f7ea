#include "tensor/sfpr.hpp"
#include "tensor/sfpr_runs.hpp"
#include "tensor/zvc.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// Codes that wait in the nearest cache to be packed, or to be multiplied; a multiple of 64.
constexpr std::size_t kBlock = 2048;

std::size_t smaller(std::size_t a, std::size_t b) { return a < b ? a : b; }

template <class Work>
auto with_kind(const SfprSlice& slice, Work work) {
  if (slice.factors.run == 1) return slice.is_unsigned ? work(Kind<true, true>{}) : work(Kind<false, true>{});
  return slice.is_unsigned ? work(Kind<true, false>{}) : work(Kind<false, false>{});
}

// each(factors, i, n): the elements from first + i on, n of them, have these factors.
template <class Kind, class Each>
void for_runs(const Factors& factors, std::size_t first, std::size_t count, Each each) {
  const std::size_t step = Kind::factor_each ? factors.period : factors.run;
  std::size_t entry = first / factors.run % factors.period;
  std::size_t left = step - first % step;
  for (std::size_t i = 0, n; i < count; i += n, left = step) {
    n = smaller(left, count - i);
    each(factors.table + entry, i, n);
    if (Kind::factor_each || ++entry == factors.period) entry = 0;
  }
}

template <class Kind, class T>
void quantize(const T* x, const Factors& inverse, std::size_t first, std::size_t count, std::uint8_t* codes) {
  for_runs<Kind>(inverse, first, count, [&](const float* factors, std::size_t i, std::size_t n) {
    quantize_run<Kind>(x + first + i, factors, n, codes + i);
  });
}

template <class Kind, class T>
void dequantize(const std::uint8_t* codes, const Factors& scale, std::size_t first, std::size_t count, T* x) {
  for_runs<Kind>(scale, first, count, [&](const float* factors, std::size_t i, std::size_t n) {
    dequantize_run<Kind>(codes + i, factors, n, x + first + i);
  });
}

// each(i, n): n elements from first + i on, at most a block of them.
template <class Each>
void for_blocks(std::size_t count, Each each) {
  for (std::size_t i = 0; i < count; i += kBlock) each(i, smaller(kBlock, count - i));
}

template <class T>
void encode8(const void* x, const SfprSlice& slice, std::uint8_t* codes) {
  with_kind(slice, [&](auto kind) {
    quantize<decltype(kind)>(static_cast<const T*>(x), slice.factors, slice.first, slice.count, codes);
  });
}

template <class T>
void decode8(const std::uint8_t* codes, const SfprSlice& slice, void* x) {
  with_kind(slice, [&](auto kind) {
    dequantize<decltype(kind)>(codes, slice.factors, slice.first, slice.count, static_cast<T*>(x));
  });
}

template <class Kind>
unsigned clip4(std::uint8_t code) {
  if (Kind::is_unsigned) return code < 15 ? code : 15;
  const auto value = static_cast<std::int8_t>(code);
  return static_cast<unsigned>(value < -8 ? -8 : value > 7 ? 7 : value) & 15;
}

template <class T>
void encode4(const void* x, const SfprSlice& slice, std::uint8_t* codes) {
  with_kind(slice, [&](auto kind) {
    using Kind = decltype(kind);
    std::uint8_t block[kBlock + 1];
    for_blocks(slice.count, [&](std::size_t i, std::size_t n) {
      quantize<Kind>(static_cast<const T*>(x), slice.factors, slice.first + i, n, block);
      block[n] = 0;
      for (std::size_t j = 0; j < (n + 1) / 2; ++j) {
        codes[i / 2 + j] = static_cast<std::uint8_t>(clip4<Kind>(block[2 * j]) | clip4<Kind>(block[2 * j + 1]) << 4);
      }
    });
  });
}

template <class T>
void decode4(const std::uint8_t* codes, const SfprSlice& slice, void* x) {
  with_kind(slice, [&](auto kind) {
    using Kind = decltype(kind);
    const std::uint8_t sign = Kind::is_unsigned ? 0 : 8;
    std::uint8_t block[kBlock + 1];
    for_blocks(slice.count, [&](std::size_t i, std::size_t n) {
      for (std::size_t j = 0; j < (n + 1) / 2; ++j) {
        const std::uint8_t two = codes[i / 2 + j];
        block[2 * j] = static_cast<std::uint8_t>(((two & 15) ^ sign) - sign);
        block[2 * j + 1] = static_cast<std::uint8_t>((two >> 4 ^ sign) - sign);
      }
      dequantize<Kind>(block, slice.factors, slice.first + i, n, static_cast<T*>(x));
    });
  });
}

#if defined(__AVX512F__)

std::uint64_t nonzero64(const float* x) {
  const __m512i magnitude = _mm512_set1_epi32(0x7fffffff);
  const auto at = [&](int i) {
    return std::uint64_t{_mm512_test_epi32_mask(_mm512_loadu_si512(x + 16 * i), magnitude)} << (16 * i);
  };
  return at(0) | at(1) | at(2) | at(3);
}

template <class T>
std::uint64_t nonzero64(const T* x) {
  const __m512i magnitude = _mm512_set1_epi16(0x7fff);
  const auto at = [&](int i) {
    return std::uint64_t{_mm512_test_epi16_mask(_mm512_loadu_si512(x + 32 * i), magnitude)} << (32 * i);
  };
  return at(0) | at(1);
}

#else

bool is_zero(float x) { return (bits_of(x) & 0x7fffffffu) == 0; }

template <class T>
bool is_zero(T x) {
  return (x.bits & 0x7fffu) == 0;
}

template <class T>
std::uint64_t nonzero64(const T* x) {
  std::uint64_t mask = 0;
  for (int i = 0; i < 64; ++i) mask |= std::uint64_t{!is_zero(x[i])} << i;
  return mask;
}

#endif

template <class T>
std::uint64_t nonzero_part(const T* x, std::size_t n) {
  if (n == 64) return nonzero64(x);
  T elements[64] = {};
  std::memcpy(elements, x, n * sizeof(T));
  return nonzero64(elements);
}

template <class T>
std::size_t encode_zvc(const void* x, const SfprSlice& slice, std::uint8_t* mask, std::uint8_t* codes) {
  return with_kind(slice, [&](auto kind) {
    const T* const elements = static_cast<const T*>(x) + slice.first;
    std::uint8_t block[kBlock];
    std::size_t kept = 0;
    for_blocks(slice.count, [&](std::size_t i, std::size_t n) {
      quantize<decltype(kind)>(static_cast<const T*>(x), slice.factors, slice.first + i, n, block);
      for (std::size_t j = 0; j < n; j += 64) {
        const std::size_t part = smaller(64, n - j);
        const std::uint64_t bits = nonzero_part(elements + i + j, part);
        std::memcpy(mask + (i + j) / 8, &bits, (part + 7) / 8);
        kept += compress64(bits, block + j, codes + kept);
      }
    });
    return kept;
  });
}

std::uint64_t bits_at(const std::uint8_t* mask, std::size_t i, std::size_t count) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, mask + i / 8, smaller(8, (count - i + 7) / 8));
  return bits;
}

// Whether the mask has this many bits, all of them for elements that there are.
bool has_bits(const std::uint8_t* mask, std::size_t count, std::size_t expected) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < count; i += 64) {
    const std::uint64_t bits = bits_at(mask, i, count);
    found += static_cast<std::size_t>(__builtin_popcountll(bits));
    if (count - i < 64 && bits >> (count - i) != 0) return false;
  }
  return found == expected;
}

template <class T>
bool decode_zvc(const std::uint8_t* mask, const std::uint8_t* codes, std::size_t num_codes, const SfprSlice& slice,
                void* x) {
  if (!has_bits(mask, slice.count, num_codes)) return false;
  with_kind(slice, [&](auto kind) {
    std::uint8_t block[kBlock];
    std::size_t used = 0;
    for_blocks(slice.count, [&](std::size_t i, std::size_t n) {
      for (std::size_t j = 0; j < n; j += 64) {
        used += expand64(bits_at(mask, i + j, slice.count), codes + used, num_codes - used, block + j);
      }
      dequantize<decltype(kind)>(block, slice.factors, slice.first + i, n, static_cast<T*>(x));
    });
  });
  return true;
}

template <class T>
constexpr SfprKernels kernels_of() {
  return {.encode8 = encode8<T>,
          .decode8 = decode8<T>,
          .encode4 = encode4<T>,
          .decode4 = decode4<T>,
          .encode_zvc = encode_zvc<T>,
          .decode_zvc = decode_zvc<T>};
}

}  // namespace

const SfprKernelsOfElements sfpr_kernels = {
    .of = {kernels_of<float>(), kernels_of<BFloat16>(), kernels_of<Float16>()}};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
