#include "tensor/group_codes.hpp"
#include "tensor/group_quantize.hpp"
#include "tensor/group_scale.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

constexpr std::uint16_t kKeptElsewhere = 0x7fc0;  // NaN, as a step

template <int kBits>
constexpr float kLevels = (1 << kBits) - 1;

constexpr std::size_t kVectors = kCodesAtOnce / kLanes;

// What is added to the steps above the least before they are truncated. A draw serves two elements, 16 apart: its lower
// half the first 16 of 32, its upper half the others.
struct Uniform {
  Words counter;
  Stream stream;

  void add_to(Lanes (&steps)[kVectors]) {
    constexpr std::size_t kDraws = kVectors / 2;
    Words random[kDraws];
    for (Words& words : random) {
      words = counter;
      counter += kLanes;
    }
    draw(random, stream);
    for (std::size_t k = 0; k < kDraws; ++k) {
      steps[k] += middle_of(random[k] & 0xffffu);
      steps[k + kDraws] += middle_of(random[k] >> 16);
    }
  }

  // The middle of one of 2^16 equal parts of 0 to 1, so that their mean is exactly a half.
  static Lanes middle_of(Words part) { return floats((Ints)part) * splat(0x1p-16f) + splat(0x1p-17f); }
};

struct Half {
  void add_to(Lanes (&steps)[kVectors]) const {
    for (Lanes& lanes : steps) lanes += splat(0.5f);
  }
};

// Elements between the first pass over them and the second: few enough to stay in the nearest cache together with as
// many that come next; enough that the processor can work at the ends of several groups at a time.
constexpr std::size_t kElementsAtOnce = 2048;

// Ask memory for 32 elements that come next, while it would be idle otherwise. Asking beyond the end does no harm.
template <class T>
void fetch(const T* x) {
  constexpr std::size_t kLine = 64 / sizeof(T);
  for (std::size_t i = 0; i < kCodesAtOnce; i += kLine) __builtin_prefetch(x + i);
}

// Of n elements, a multiple of 32.
template <int kBits, class T, class Offset>
void quantize(const T* x, std::size_t n, const Scale& scale, Offset offset, std::uint8_t* codes) {
  const Lanes least = splat(scale.least);
  const Lanes inverse = splat(scale.inverse);
  const Lanes most = splat(kLevels<kBits>);
  for (std::size_t i = 0; i < n; i += kCodesAtOnce) {
    Lanes steps[kVectors];
    for (std::size_t k = 0; k < kVectors; ++k) steps[k] = (load(x + i + k * kLanes) - least) * inverse;
    offset.add_to(steps);
    fetch(x + i + kElementsAtOnce);
    Codes some;
    // Steps are not negative, so that truncation is floor, and only the upper end needs a clamp.
    for (std::size_t k = 0; k < kVectors; ++k) some[k] = truncated(lesser(steps[k], most));
    store_codes<kBits>(codes + i / 8 * kBits, some);
  }
}

constexpr std::size_t padded(std::size_t n) { return (n + kCodesAtOnce - 1) / kCodesAtOnce * kCodesAtOnce; }

Words count_from(std::size_t first) {
  Words counter;
  for (std::size_t i = 0; i < kLanes; ++i) counter[i] = static_cast<std::uint32_t>(first + i);
  return counter;
}

template <int kBits, class T>
std::size_t encode_few_groups(const T* x, std::size_t groups, std::size_t group, std::size_t first, Rounding rounding,
                              const GroupParts& parts) {
  Scale scales[kElementsAtOnce / kLeastGroup];
  for (std::size_t g = 0; g < groups; ++g) scales[g] = scale_of<T>(extent_of(x + g * group, group), kLevels<kBits>);
  std::size_t kept = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const Scale& scale = scales[g];
    std::uint8_t* codes = parts.codes + g * (group / 8 * kBits);
    if (!scale.sound) {
      std::memset(codes, 0, group / 8 * kBits);
      ++kept;
    } else if (rounding.stochastic) {
      quantize<kBits>(x + g * group, group, scale, Uniform{count_from((first + g * group) / 2), rounding.stream}, codes);
    } else {
      quantize<kBits>(x + g * group, group, scale, Half{}, codes);
    }
    static_cast<T*>(parts.least)[g] = from_float<T>(scale.sound ? scale.least : 0);
    parts.steps[g] = scale.sound ? static_cast<std::uint16_t>(bits_of(scale.step) >> 16) : kKeptElsewhere;
  }
  return kept;
}

template <int kBits, class T>
std::size_t encode_short_group(const T* x, std::size_t n, std::size_t first, Rounding rounding,
                               const GroupParts& parts) {
  T whole[kMostGroup];  // filled up with an element that there is, which changes neither end
  for (std::size_t k = 0; k < padded(n); ++k) whole[k] = x[k < n ? k : 0];
  std::uint8_t codes[kMostGroup];
  const std::size_t kept = encode_few_groups<kBits>(
      whole, 1, padded(n), first, rounding, {.codes = codes, .least = parts.least, .steps = parts.steps});
  if (const std::size_t used = n * kBits % 8; used != 0) codes[n * kBits / 8] &= (1u << used) - 1;
  std::memcpy(parts.codes, codes, code_bytes(n, kBits));
  return kept;
}

template <int kBits, class T>
std::size_t encode_groups(const T* x, std::size_t count, std::size_t group, std::size_t first, Rounding rounding,
                          const GroupParts& parts) {
  const auto from = [&](std::size_t g) {
    return GroupParts{.codes = parts.codes + g * (group / 8 * kBits),
                      .least = static_cast<T*>(parts.least) + g,
                      .steps = parts.steps + g};
  };
  const std::size_t whole = count / group;
  const std::size_t at_once = kElementsAtOnce / group;
  std::size_t kept = 0;
  for (std::size_t g = 0; g < whole; g += at_once) {
    const std::size_t groups = at_once < whole - g ? at_once : whole - g;
    kept += encode_few_groups<kBits>(x + g * group, groups, group, first + g * group, rounding, from(g));
  }
  if (const std::size_t rest = count % group; rest != 0) {
    kept += encode_short_group<kBits>(x + whole * group, rest, first + whole * group, rounding, from(whole));
  }
  return kept;
}

template <class T>
std::size_t encode(const void* elements, std::size_t count, GroupFormat format, std::size_t first, Rounding rounding,
                   const GroupParts& parts) {
  const T* x = static_cast<const T*>(elements);
  switch (format.bits) {
    case 1: return encode_groups<1>(x, count, format.group, first, rounding, parts);
    case 2: return encode_groups<2>(x, count, format.group, first, rounding, parts);
    case 3: return encode_groups<3>(x, count, format.group, first, rounding, parts);
    case 4: return encode_groups<4>(x, count, format.group, first, rounding, parts);
    default: return encode_groups<8>(x, count, format.group, first, rounding, parts);
  }
}

template <int kBits, class T>
void decode_group(const std::uint8_t* codes, std::size_t n, float least, float step, T* x) {
  for (std::size_t i = 0; i < n; i += kLanes) {
    store(x + i, splat(least) + floats(load_codes<kBits>(codes, i)) * splat(step));
  }
}

template <int kBits, class T>
std::size_t decode_groups(const GroupView& parts, std::size_t count, std::size_t group, T* x) {
  const std::uint8_t* codes = parts.codes;
  const std::uint8_t* end = codes + code_bytes(count, kBits);
  std::size_t kept = 0;
  for (std::size_t i = 0, g = 0; i < count; i += group, ++g) {
    const std::size_t n = group < count - i ? group : count - i;
    const std::size_t bytes = code_bytes(n, kBits);
    const float least = to_float(static_cast<const T*>(parts.least)[g]);
    const float step = to_float(BFloat16{parts.steps[g]});
    if (n % kCodesAtOnce == 0 && static_cast<std::size_t>(end - codes) >= bytes + kReadBeyond) {
      decode_group<kBits>(codes, n, least, step, x + i);
    } else {
      std::uint8_t own[kMostGroup + kReadBeyond] = {};
      std::memcpy(own, codes, bytes);
      T whole[kMostGroup] = {};
      decode_group<kBits>(own, padded(n), least, step, whole);
      std::memcpy(x + i, whole, n * sizeof(T));
    }
    codes += bytes;
    kept += step != step;
  }
  return kept;
}

template <class T>
std::size_t decode(const GroupView& parts, std::size_t count, GroupFormat format, void* elements) {
  T* x = static_cast<T*>(elements);
  switch (format.bits) {
    case 1: return decode_groups<1>(parts, count, format.group, x);
    case 2: return decode_groups<2>(parts, count, format.group, x);
    case 3: return decode_groups<3>(parts, count, format.group, x);
    case 4: return decode_groups<4>(parts, count, format.group, x);
    default: return decode_groups<8>(parts, count, format.group, x);
  }
}

}  // namespace

const GroupKernels group_kernels = {.encode = {encode<float>, encode<BFloat16>, encode<Float16>},
                                    .decode = {decode<float>, decode<BFloat16>, decode<Float16>}};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
