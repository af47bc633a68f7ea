#include "tensor/nibbles.hpp"
#include "tensor/nonzero.hpp"
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

template <class T>
void encode4(const void* x, const SfprSlice& slice, std::uint8_t* codes) {
  with_kind(slice, [&](auto kind) {
    using Kind = decltype(kind);
    std::uint8_t block[kBlock + 1];
    for_blocks(slice.count, [&](std::size_t i, std::size_t n) {
      quantize<Kind>(static_cast<const T*>(x), slice.factors, slice.first + i, n, block);
      pack_nibbles<Kind::is_unsigned>(block, n, codes + i / 2);
    });
  });
}

template <class T>
void decode4(const std::uint8_t* codes, const SfprSlice& slice, void* x) {
  with_kind(slice, [&](auto kind) {
    using Kind = decltype(kind);
    std::uint8_t block[kBlock + 1];
    for_blocks(slice.count, [&](std::size_t i, std::size_t n) {
      unpack_nibbles<Kind::is_unsigned>(codes + i / 2, n, block);
      dequantize<Kind>(block, slice.factors, slice.first + i, n, static_cast<T*>(x));
    });
  });
}

// Bits of up to 63 elements.
std::uint64_t load_bits_part(const std::uint8_t* mask, std::size_t n) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, mask, (n + 7) / 8);
  return bits;
}

std::uint64_t load_bits(const std::uint8_t* mask) {
  std::uint64_t bits;
  std::memcpy(&bits, mask, 8);
  return bits;
}

// Masks and compresses the codes of a block; returns how many are kept.
template <class T>
std::size_t compress(const T* x, const std::uint8_t* block, std::size_t n, std::uint8_t* mask, std::uint8_t* codes) {
  std::size_t kept = 0, i = 0;
  for (; i + 64 <= n; i += 64) {
    const std::uint64_t bits = nonzero64(x + i);
    std::memcpy(mask + i / 8, &bits, 8);
    kept += compress64(bits, block + i, codes + kept);
  }
  if (i == n) return kept;
  const std::uint64_t bits = nonzero_part(x + i, n - i);
  std::memcpy(mask + i / 8, &bits, (n - i + 7) / 8);
  return kept + compress64(bits, block + i, codes + kept);
}

template <class T>
std::size_t encode_zvc(const void* x, const SfprSlice& slice, std::uint8_t* mask, std::uint8_t* codes) {
  return with_kind(slice, [&](auto kind) {
    const T* const elements = static_cast<const T*>(x);
    std::uint8_t block[kBlock];
    std::size_t kept = 0;
    for_blocks(slice.count, [&](std::size_t i, std::size_t n) {
      quantize<decltype(kind)>(elements, slice.factors, slice.first + i, n, block);
      kept += compress(elements + slice.first + i, block, n, mask + i / 8, codes + kept);
    });
    return kept;
  });
}

// Whether the mask has this many bits, all of them for elements that there are.
bool has_bits(const std::uint8_t* mask, std::size_t n, std::size_t expected) {
  std::size_t found = 0, i = 0;
  for (; i + 64 <= n; i += 64) found += static_cast<std::size_t>(__builtin_popcountll(load_bits(mask + i / 8)));
  const std::uint64_t rest = load_bits_part(mask + i / 8, n - i);
  return rest >> (n - i) == 0 && found + static_cast<std::size_t>(__builtin_popcountll(rest)) == expected;
}

// The codes of a block, 0 where there is none; returns how many there were.
std::size_t expand(const std::uint8_t* mask, const std::uint8_t* codes, std::size_t num_codes, std::size_t n,
                   std::uint8_t* block) {
  std::size_t used = 0, i = 0;
  for (; i + 64 <= n; i += 64) {
    used += expand64(load_bits(mask + i / 8), codes + used, num_codes - used, block + i);
  }
  if (i == n) return used;
  return used + expand64(load_bits_part(mask + i / 8, n - i), codes + used, num_codes - used, block + i);
}

template <class T>
bool decode_zvc(const std::uint8_t* mask, const std::uint8_t* codes, std::size_t num_codes, const SfprSlice& slice,
                void* x) {
  if (!has_bits(mask, slice.count, num_codes)) return false;
  with_kind(slice, [&](auto kind) {
    std::uint8_t block[kBlock];
    std::size_t used = 0;
    for_blocks(slice.count, [&](std::size_t i, std::size_t n) {
      used += expand(mask + i / 8, codes + used, num_codes - used, n, block);
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
