#include "tensor/error_bounded_integers.hpp"

#include <bit>
#include <cstring>

#include "tensor/bits.hpp"

namespace halfbyte::tensor {
namespace {

constexpr unsigned kFirstClass = 128;
constexpr unsigned kFirstExponent = 7;
constexpr unsigned kLastClass = kFirstClass + 4 * (31 - kFirstExponent) + 3;

constexpr unsigned exponent_of(unsigned symbol) { return (symbol - kFirstClass) / 4 + kFirstExponent; }

// visit(i) for every symbol that stands for a class, until it returns false.
template <class Visit>
bool for_classes(const std::uint8_t* symbols, std::size_t count, const Visit& visit) {
  for (std::size_t i = 0; i < count; i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, symbols + i, count - i < 8 ? count - i : 8);
    for (eight &= 0x8080808080808080U; eight != 0; eight &= eight - 1) {
      const auto bit = static_cast<std::size_t>(std::countr_zero(eight));
      const std::size_t place = std::endian::native == std::endian::little ? bit / 8 : 7 - bit / 8;
      if (!visit(i + place)) return false;
    }
  }
  return true;
}

}  // namespace

std::uint8_t* put_huffman(std::uint32_t* d, std::size_t count, IntegerBytes& memory, std::uint8_t* out) {
  const ErrorBoundedKernels& kernels = error_bounded_kernels();
  std::uint8_t* const symbols = memory.symbols;
  const bool has_sign = kernels.has_sign(d, count);
  const bool has_classes = kernels.to_bytes(d, count, has_sign, symbols);
  *out++ = has_sign;
  out = encode_plane({symbols, count}, out);
  if (!has_classes) return out;
  BitWriter bits(out);
  std::size_t num_bits = 0;
  for_classes(symbols, count, [&](std::size_t i) {
    const unsigned below = exponent_of(symbols[i]) - 2;
    bits.put(d[i] & ((1U << below) - 1), below);
    num_bits += below;
    return true;
  });
  bits.finish();
  return out + (num_bits + 7) / 8;
}

bool take_huffman(ByteView in, IntegerBytes& memory, std::uint32_t* d, std::size_t count) {
  const ErrorBoundedKernels& kernels = error_bounded_kernels();
  std::uint8_t* const symbols = memory.symbols;
  if (in.empty() || in[0] > 1) return false;
  const bool has_sign = in[0] == 1;
  in = in.subspan(1);
  if (!decode_plane(in, symbols, count)) return false;
  kernels.from_bytes(symbols, count, d);
  BitReader bits(in.data(), in.size());
  bool has_classes = false;
  const bool sound = for_classes(symbols, count, [&](std::size_t i) {
    const unsigned symbol = symbols[i];
    if (symbol > kLastClass) return false;
    const unsigned below = exponent_of(symbol) - 2;
    bits.refill();
    d[i] = (4U + symbol % 4) << below | static_cast<std::uint32_t>(bits.peek() >> (64 - below));
    bits.take(below);
    return has_classes = true;
  });
  if (has_sign) kernels.give_sign(d, count);
  return sound && (has_classes ? bits.is_in_last_byte() : in.empty());
}

}  // namespace halfbyte::tensor
