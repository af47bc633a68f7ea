// Random numbers without a state: draw i of a key is a hash of (key, i), so that any thread, instruction set and device
// draws the same ones, in any order, and no generator of the framework is touched. Not for secrets.
//
// The key enters twice. Were it only combined with the counter before the hash, the draws of one key would be those of
// another in another order (counter ^ key takes the same values), and the rounding errors of two tensors would be
// copies of each other; its other half, added between the two multiplications, makes every key a hash of its own.
//
// Quality, as measured by tests/activations/codecs/test_counter_random.py: every bit of a draw is set half of the time,
// flipping a bit of the counter flips each bit of the draw half of the time, and the draws of neighbouring counters and
// of neighbouring keys are uncorrelated. Counters have 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halfbyte::tensor {

// The two halves of a key, spread by spread_key.
struct Stream {
  std::uint32_t first;
  std::uint32_t second;
};

namespace {

// Keys that differ little, as 1 and 2 do, give halves that have nothing in common.
inline Stream spread_key(std::uint64_t key) {
  key += 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio, so that key 0 is none that stays 0
  key = (key ^ key >> 32) * 0xb59143691a8a4c15u;
  key = (key ^ key >> 29) * 0x4e46c95d0c24d119u;
  key ^= key >> 32;
  return {static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)};
}

// Replaces counters by 32 random bits each; Words is std::uint32_t or a vector of them. Shifts and multiplications by
// turns: a multiplication carries every bit upwards, a shift brings the upper ones down again. All words do a step
// before any does the next, so that the processor need not look far ahead for work.
template <std::size_t n, class Words>
void draw(Words (&words)[n], Stream stream) {
  for (Words& h : words) h = h ^ stream.first;
  for (Words& h : words) h = h ^ h >> 16;
  for (Words& h : words) h = h * 0xc839c957u;
  for (Words& h : words) h = (h ^ h >> 15) + stream.second;
  for (Words& h : words) h = h * 0x14398e6fu;
  for (Words& h : words) h = h ^ h >> 16;
}

}  // namespace
}  // namespace halfbyte::tensor
