#include "tensor/masks.hpp"

#include "tensor/masks_blocks.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// The last block is worked on in memory of its own, filled up with zeros.

template <class T>
bool pack_positive(const T* x, std::size_t count, std::uint8_t* bytes) {
  std::uint64_t nans = 0;
  const auto bits_of_block = [&](const T* block) {
    const std::uint64_t found = not_a_number(block);
    nans |= found;
    return positive(block) | found;
  };
  pack(x, count, bytes, bits_of_block);
  return nans != 0;
}

template <class T>
void unpack(const std::uint8_t* bits, std::size_t count, T pattern, T* out) {
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) spread(word_of(bits + i / 8, kBlock), pattern, out + i);
  if (i == count) return;
  T rest[kBlock];
  spread(word_of(bits + i / 8, count - i), pattern, rest);
  std::memcpy(out + i, rest, (count - i) * sizeof(T));
}

template <class T>
void apply(const std::uint8_t* bits, std::size_t count, T* x) {
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) keep(word_of(bits + i / 8, kBlock), x + i);
  if (i == count) return;
  T rest[kBlock] = {};
  std::memcpy(rest, x + i, (count - i) * sizeof(T));
  keep(word_of(bits + i / 8, count - i), rest);
  std::memcpy(x + i, rest, (count - i) * sizeof(T));
}

}  // namespace

const MaskKernels mask_kernels = {
    .positive_float32 = pack_positive<float>,
    .positive_bfloat16 = pack_positive<BFloat16>,
    .positive_float16 = pack_positive<Float16>,
    .nonzero_8 = pack_nonzero<std::uint8_t>,
    .nonzero_16 = pack_nonzero<std::uint16_t>,
    .nonzero_32 = pack_nonzero<std::uint32_t>,
    .unpack_8 = unpack<std::uint8_t>,
    .unpack_16 = unpack<std::uint16_t>,
    .unpack_32 = unpack<std::uint32_t>,
    .apply_16 = apply<std::uint16_t>,
    .apply_32 = apply<std::uint32_t>,
};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
