#include "tensor/block_bits.hpp"
#include "tensor/group_codes.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

constexpr std::size_t kColumns = 16;
constexpr std::size_t kRows = kBitsBlock / kColumns;

template <class T>
Words load_words_at(const T* p) {
  Words v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

inline Words without_sign(Words d) { return d << 1 ^ (Words)((Ints)d >> 31); }
inline Words with_sign(Words u) { return u >> 1 ^ -(u & 1); }

template <bool kSign>
Words any_of(const std::uint32_t* d) {
  Words any = Words{};
  for (std::size_t i = 0; i < kBitsBlock; i += kLanes) {
    const Words v = load_words_at(d + i);
    any |= kSign ? without_sign(v) : v;
  }
  return any;
}

inline std::uint32_t join(Words v) {
  std::uint32_t joined = 0;
  for (std::size_t k = 0; k < kLanes; ++k) joined |= v[k];
  return joined;
}

template <bool kSign>
void pack_columns(const std::uint32_t* d, unsigned width, std::uint8_t* out) {
  Words waiting = Words{};
  unsigned shift = 0;
  for (std::size_t row = 0; row < kRows; ++row) {
    const Words v = load_words_at(d + row * kColumns);
    const Words u = kSign ? without_sign(v) : v;
    waiting |= u << shift;
    shift += width;
    if (shift < 32) continue;
    std::memcpy(out, &waiting, sizeof waiting);
    out += kColumns * 4;
    shift -= 32;
    waiting = shift == 0 ? Words{} : u >> (width - shift);
  }
}

template <bool kSign>
void unpack_columns(const std::uint8_t* in, unsigned width, std::uint32_t* d) {
  const std::uint32_t mask = width == 32 ? ~0u : (1u << width) - 1;
  Words word = Words{};
  unsigned shift = 32;
  for (std::size_t row = 0; row < kRows; ++row) {
    Words u = shift == 32 ? Words{} : word >> shift;
    if (shift + width > 32) {
      word = load_words_at(in);
      in += kColumns * 4;
      u |= word << (32 - shift);
      shift -= 32;
    }
    shift += width;
    u &= mask;
    const Words v = kSign ? with_sign(u) : u;
    std::memcpy(d + row * kColumns, &v, sizeof v);
  }
}

std::uint8_t pack(const std::uint32_t* d, std::uint8_t* out) {
  std::uint32_t any = join(any_of<false>(d));
  const bool sign = any >> 31 != 0;
  if (sign) any = join(any_of<true>(d));
  const unsigned width = any == 0 ? 0 : 32 - static_cast<unsigned>(__builtin_clz(any));
  if (width == 0) return 0;
  for (std::size_t column = 0; column < kColumns; column += kLanes) {
    (sign ? pack_columns<true> : pack_columns<false>)(d + column, width, out + column * 4);
  }
  return static_cast<std::uint8_t>(width + (sign ? kHasSign : 0));
}

void unpack(std::uint8_t head, const std::uint8_t* in, std::uint32_t* d) {
  const auto width = static_cast<unsigned>(width_of(head));
  if (width == 0) {
    std::memset(d, 0, kBitsBlock * 4);
    return;
  }
  for (std::size_t column = 0; column < kColumns; column += kLanes) {
    (head >= kHasSign ? unpack_columns<true> : unpack_columns<false>)(in + column * 4, width, d + column);
  }
}

}  // namespace

const BlockBitsKernels block_bits_kernels = {.pack = pack, .unpack = unpack};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
