#include "tensor/two_values.hpp"

#include "tensor/masks_blocks.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

template <class T, bool kept>
bool pack(const T* x, std::size_t count, T value, std::uint8_t* bits) {
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    const std::uint64_t others = nonzero(x + i);
    if (others != equal(x + i, value)) return false;
    if constexpr (kept) std::memcpy(bits + i / 8, &others, sizeof others);
  }
  if (i == count) return true;
  T rest[kBlock] = {};
  std::memcpy(rest, x + i, (count - i) * sizeof(T));
  const std::uint64_t others = nonzero(rest);
  if constexpr (kept) std::memcpy(bits + i / 8, &others, mask_bytes(count - i));
  return others == equal(rest, value);
}

template <class T>
bool pack_or_look(const T* x, std::size_t count, T value, std::uint8_t* bits) {
  return bits != nullptr ? pack<T, true>(x, count, value, bits) : pack<T, false>(x, count, value, bits);
}

}  // namespace

const TwoValuesKernels two_values_kernels = {.pack_16 = pack_or_look, .pack_32 = pack_or_look};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
