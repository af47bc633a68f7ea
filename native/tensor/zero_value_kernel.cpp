#include "tensor/zero_value.hpp"

#include "tensor/zero_value_blocks.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

constexpr std::size_t kStretch = 4096;  // elements that are looked at twice while they are in the first-level cache

std::size_t count_ones(const std::uint8_t* bits, std::size_t count) {
  std::size_t ones = 0;
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) ones += num_set(word_of(bits + i / 8, kBlock));
  return ones + num_set(word_of(bits + i / 8, count - i));
}

template <class T>
bool scan(const void* x, std::size_t count, T infinity, std::uint8_t* bits) {
  T greatest = 0;
  for (std::size_t first = 0; first < count; first += kStretch) {
    const T* const stretch = static_cast<const T*>(x) + first;
    const std::size_t length = count - first < kStretch ? count - first : kStretch;
    pack_nonzero(stretch, length, bits + first / 8);
    for (std::size_t i = 0; i < length; ++i) greatest = stretch[i] > greatest ? stretch[i] : greatest;
  }
  return greatest > infinity;
}

// Whether what was finite still is, now that it is held in 16 bits.
template <class Half>
bool stay_finite(const float* x, std::size_t count, const Half* values, const Half* end) {
  std::uint16_t greatest = 0;
  for (; values != end; ++values) {
    const auto size = static_cast<std::uint16_t>(values->bits & 0x7fff);
    greatest = size > greatest ? size : greatest;
  }
  if (greatest < infinity_of(Half{})) return true;
  bool finite = true;
  for (std::size_t i = 0; i < count; ++i) {  // rare, so it need not be fast
    const bool was_finite = (bits_of(x[i]) & 0x7fffffff) < 0x7f800000;
    finite &= !was_finite || (from_float<Half>(x[i]).bits & 0x7fff) < infinity_of(Half{});
  }
  return finite;
}
template <class T>
bool stay_finite(const T*, std::size_t, const T*, const T*) {
  return true;
}

template <class Element, class Value>
bool compact_piece(const void* x, std::size_t count, const std::uint8_t* bits, void* values, const void* end) {
  const auto* const elements = static_cast<const Element*>(x);
  const auto* const last = static_cast<const Value*>(end);
  auto* out = static_cast<Value*>(values);
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) out = compact(word_of(bits + i / 8, kBlock), elements + i, out, last);
  Element rest[kBlock] = {};
  std::memcpy(rest, elements + i, (count - i) * sizeof(Element));
  compact(word_of(bits + i / 8, count - i), rest, out, last);
  return stay_finite(elements, count, static_cast<const Value*>(values), last);
}

template <class Element, class Value>
void expand_piece(const std::uint8_t* bits, std::size_t count, const void* values, const void* end, void* out) {
  auto* const elements = static_cast<Element*>(out);
  const auto* in = static_cast<const Value*>(values);
  const auto* const last = static_cast<const Value*>(end);
  std::size_t i = 0;
  for (; i + kBlock <= count; i += kBlock) in = expand(word_of(bits + i / 8, kBlock), in, last, elements + i);
  Element rest[kBlock];
  expand(word_of(bits + i / 8, count - i), in, last, rest);
  std::memcpy(elements + i, rest, (count - i) * sizeof(Element));
}

}  // namespace

const ZeroValueKernels zero_value_kernels = {
    .count_ones = count_ones,
    .scan_16 = scan,
    .scan_32 = scan,
    .compact = {compact_piece<std::uint16_t, std::uint16_t>, compact_piece<std::uint32_t, std::uint32_t>,
                compact_piece<float, BFloat16>, compact_piece<float, Float16>},
    .expand = {expand_piece<std::uint16_t, std::uint16_t>, expand_piece<std::uint32_t, std::uint32_t>,
               expand_piece<float, BFloat16>, expand_piece<float, Float16>},
};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
