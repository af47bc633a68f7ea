#include "tensor/sfpr.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "tensor/workspace.hpp"
#include "tests/check.hpp"

using namespace halfbyte;
using namespace halfbyte::tensor;

namespace {

constexpr int kThreads = 2;
constexpr float kLevels = 144;

// Arrays end where their memory ends, so that a sanitizer sees every step beyond.
struct Case {
  ChannelArray array;
  std::vector<std::uint16_t> memory;  // two for a float32

  [[nodiscard]] void* x() { return memory.data(); }
};

Case random_case(const ChannelArray& array, bool is_unsigned, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  Case made{.array = array, .memory = std::vector<std::uint16_t>(array.count() * size_of(array.element) / 2)};
  for (std::size_t i = 0; i < array.count(); ++i) {
    const float value = is_unsigned ? std::max(normal(random), 0.0F) : normal(random);
    std::uint32_t bits;
    std::memcpy(&bits, &value, 4);
    if (array.element == Element::float32) std::memcpy(&made.memory[2 * i], &bits, 4);
    // Some value of a like size will do for float16.
    if (array.element == Element::bfloat16) made.memory[i] = static_cast<std::uint16_t>(bits >> 16);
    if (array.element == Element::float16) made.memory[i] = static_cast<std::uint16_t>((bits >> 16 & 0x87ff) | 0x3000);
  }
  return made;
}

template <class Test>
void for_cases(const Test& test) {
  constexpr std::size_t kShapes[][3] = {{1, 1, 1},  {0, 3, 2},     {1, 1, 70000}, {3, 5, 49}, {40, 3, 1},
                                        {2, 65, 9}, {200, 130, 1}, {9, 40, 3},    {2, 2, 63}, {4, 64, 784}};
  unsigned seed = 0;
  for (const auto& [outer, channels, inner] : kShapes) {
    for (const Element element : {Element::float32, Element::bfloat16, Element::float16}) {
      for (const bool is_unsigned : {false, true}) {
        test(random_case({element, outer, channels, inner}, is_unsigned, ++seed));
      }
    }
  }
}

struct Encoded {
  std::vector<float> scales;
  bool is_unsigned;
  std::vector<std::uint8_t> mask;
  std::vector<std::int32_t> counts;
  std::vector<std::uint8_t> codes;

  bool operator==(const Encoded&) const = default;
};

Encoded encode(Case& a, int bits) {
  Encoded made{.scales = std::vector<float>(a.array.channels),
               .is_unsigned = false,
               .mask = {},
               .counts = {},
               .codes = std::vector<std::uint8_t>((a.array.count() * static_cast<std::size_t>(bits) + 7) / 8)};
  const float levels = bits == 4 ? kLevels / 16 : kLevels;
  const SfprKind kind =
      sfpr_encode(a.x(), a.array, bits, levels, made.scales.data(), made.codes.data(), kThreads);
  made.is_unsigned = kind.is_unsigned;
  CHECK(kind.is_finite);
  return made;
}

Encoded encode_zvc(Case& a) {
  Encoded made{.scales = std::vector<float>(a.array.channels),
               .is_unsigned = false,
               .mask = std::vector<std::uint8_t>((a.array.count() + 7) / 8),
               .counts = std::vector<std::int32_t>(zvc_runs(a.array.count())),
               .codes = {}};
  const SfprZvc zvc = sfpr_zvc_encode(a.x(), a.array, kLevels, made.scales.data(), made.mask.data(),
                                      made.counts.data(), kThreads);
  made.is_unsigned = zvc.kind.is_unsigned;
  made.codes.resize(zvc.codes);
  sfpr_zvc_gather(made.counts.data(), made.counts.size(), made.codes.data(), kThreads);
  return made;
}

std::vector<std::uint16_t> decode(const Encoded& e, const ChannelArray& array, int bits) {
  std::vector<std::uint16_t> memory(array.count() * size_of(array.element) / 2);
  sfpr_decode(e.codes.data(), e.scales.data(), array, bits, e.is_unsigned, memory.data(), kThreads);
  return memory;
}

bool decode_zvc(const Encoded& e, const ChannelArray& array, std::vector<std::uint16_t>& memory) {
  memory.resize(array.count() * size_of(array.element) / 2);
  return sfpr_zvc_decode(e.mask.data(), e.counts.data(), e.codes.data(), e.codes.size(), e.scales.data(), array,
                         e.is_unsigned, memory.data(), kThreads);
}

int code_of(const Encoded& e, std::size_t i) {
  return e.is_unsigned ? e.codes[i] : static_cast<std::int8_t>(e.codes[i]);
}

void codes_agree_with_the_definition() {
  for_cases([](Case a) {
    if (a.array.element != Element::float32) return;
    const Encoded e = encode(a, 8);
    for (std::size_t i = 0; i < a.array.count(); ++i) {
      const float scale = e.scales[i / a.array.inner % a.array.channels];
      float x;
      std::memcpy(&x, &a.memory[2 * i], 4);
      const float low = e.is_unsigned ? 0 : -128;
      const float code = scale > 0 ? std::clamp(x / scale, low, low + 255) : 0;
      CHECK(std::abs(code - static_cast<float>(code_of(e, i))) <= 0.5001F);
    }
  });
}

void instruction_sets_agree() {
  for_cases([](Case a) {
    set_isa(Isa::portable);
    const Encoded eight = encode(a, 8), four = encode(a, 4), zvc = encode_zvc(a);
    const auto from_eight = decode(eight, a.array, 8), from_four = decode(four, a.array, 4);
    for (const Isa isa : available_isas()) {
      set_isa(isa);
      CHECK(encode(a, 8) == eight && encode(a, 4) == four && encode_zvc(a) == zvc);
      CHECK(decode(eight, a.array, 8) == from_eight && decode(four, a.array, 4) == from_four);
      std::vector<std::uint16_t> from_zvc;
      CHECK(decode_zvc(zvc, a.array, from_zvc) && from_zvc == from_eight);
    }
  });
}

void damage_is_seen() {
  const auto refused = [](const Encoded& e, const ChannelArray& array) {
    std::vector<std::uint16_t> memory;
    return !decode_zvc(e, array, memory);
  };
  for_cases([&](Case a) {
    const Encoded sound = encode_zvc(a);
    if (sound.codes.empty()) return;
    Encoded e = sound;
    e.mask[e.mask.size() / 2] ^= 4;
    CHECK(refused(e, a.array));
    e = sound;
    e.codes.pop_back();
    CHECK(refused(e, a.array));
    for (const std::int32_t change : {1, -1, 1 << 30, -(1 << 30)}) {
      e = sound;
      e.counts.back() += change;
      CHECK(refused(e, a.array));
    }
  });
}

void bits_behind_the_last_element_are_seen() {
  Case a = random_case({Element::float32, 1, 1, 100}, false, 1);
  Encoded e = encode_zvc(a);
  e.mask.back() = 0xf0;  // as many bits as there were, of elements that there are not
  std::vector<std::uint16_t> memory;
  CHECK(!decode_zvc(e, a.array, memory));
}

void workspace_grows_and_is_aligned() {
  std::uint8_t* const small = workspace(100);
  CHECK(small != nullptr && reinterpret_cast<std::uintptr_t>(small) % 64 == 0);
  CHECK(workspace(50) == small && workspace(0) == small);
  std::uint8_t* const large = workspace(1 << 20);
  CHECK(large != nullptr && reinterpret_cast<std::uintptr_t>(large) % 64 == 0);
  large[(1 << 20) - 1] = 1;
  release_workspace();
  CHECK(workspace(1) != nullptr);
}

}  // namespace

int main() {
  for (const Isa isa : available_isas()) {
    set_isa(isa);
    codes_agree_with_the_definition();
    damage_is_seen();
    bits_behind_the_last_element_are_seen();
  }
  instruction_sets_agree();
  workspace_grows_and_is_aligned();
  return halfbyte::test::result();
}
