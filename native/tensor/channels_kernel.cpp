#include "tensor/channels.hpp"
#include "tensor/lanes.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

template <class T>
struct Pattern {
  using Bits = std::uint16_t;
  static constexpr Bits kMagnitude = 0x7fff;
};
template <>
struct Pattern<float> {
  using Bits = std::uint32_t;
  static constexpr Bits kMagnitude = 0x7fffffff;
};

template <class Bits>
Bits larger(Bits a, Bits b) {
  return a > b ? a : b;
}

template <class Bits>
Bits bits_at(const void* x, std::size_t i) {
  Bits bits;
  std::memcpy(&bits, static_cast<const char*>(x) + i * sizeof(Bits), sizeof bits);
  return bits;
}

void raise(std::uint32_t* max, std::uint32_t value) {
  std::uint32_t old = __atomic_load_n(max, __ATOMIC_RELAXED);
  while (value > old && !__atomic_compare_exchange_n(max, &old, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
  }
}

template <class T>
std::uint32_t planes(const void* x, std::size_t first, std::size_t count, std::size_t channels, std::size_t inner,
                     std::uint32_t* max_bits) {
  using Bits = typename Pattern<T>::Bits;
  Bits with_sign = 0;
  std::size_t channel = first / inner % channels;
  std::size_t end = first + inner - first % inner;
  for (std::size_t i = first; i < first + count; end += inner) {
    const std::size_t stop = end < first + count ? end : first + count;
    Bits max = 0;
    for (; i < stop; ++i) {
      const Bits bits = bits_at<Bits>(x, i);
      max = larger<Bits>(max, bits & Pattern<T>::kMagnitude);
      with_sign = larger(with_sign, bits);
    }
    raise(max_bits + channel, max);
    if (++channel == channels) channel = 0;
  }
  return with_sign;
}

template <class T>
std::uint32_t columns(const void* x, std::size_t rows, std::size_t stride, std::size_t width,
                      std::uint32_t* max_bits) {
  using Bits = typename Pattern<T>::Bits;
  constexpr std::size_t kStrip = 1024;
  Bits with_sign = 0;
  for (std::size_t begin = 0; begin < width; begin += kStrip) {
    const std::size_t strip = width - begin < kStrip ? width - begin : kStrip;
    Bits max[kStrip] = {};
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t j = 0; j < strip; ++j) {
        const Bits bits = bits_at<Bits>(x, row * stride + begin + j);
        max[j] = larger<Bits>(max[j], bits & Pattern<T>::kMagnitude);
        with_sign = larger(with_sign, bits);
      }
    }
    for (std::size_t j = 0; j < strip; ++j) max_bits[begin + j] = larger<std::uint32_t>(max_bits[begin + j], max[j]);
  }
  return with_sign;
}

template <class T>
T of_bits(std::uint32_t bits) {
  return {static_cast<std::uint16_t>(bits)};
}
template <>
float of_bits<float>(std::uint32_t bits) {
  return float_of(bits);
}

template <class T>
void to_floats(const std::uint32_t* bits, std::size_t count, float* values) {
  const float infinity = float_of(0x7f800000u);
  for (std::size_t i = 0; i < count; ++i) {
    const float value = to_float(of_bits<T>(bits[i]));
    values[i] = value < infinity ? value : infinity;
  }
}

template <class T>
constexpr ChannelKernels kernels_of() {
  return {.planes = planes<T>, .columns = columns<T>, .to_float = to_floats<T>};
}

}  // namespace

const ChannelKernelsOfElements channel_kernels = {
    .of = {kernels_of<float>(), kernels_of<BFloat16>(), kernels_of<Float16>()}};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
