// Group quantization: elements in memory order, in groups of which each has a scale of its own. A group keeps its
// least element, exactly, and a step (bfloat16, rounded up); an element is as many steps above the least:
//
//   step  = up((greatest - least) / (2^bits - 1)), or 0 where that is below 2^-126
//   code  = min(trunc((x - least) * (1 / step) + u), 2^bits - 1), with 0 for 1 / step where step is 0
//   x'    = least + code * step, in the type of the elements
//
// each operation rounded to float32. u is 1/2, or drawn from (key, index of the element) among the middles of 2^16
// equal parts of 0 to 1, which makes the expectation of x' the element itself, within 2^-17 of a step. Codes are a stream of bits, lowest first, without gaps.
//
// A group that holds NaN or infinity, or whose x' could be infinite, is kept elsewhere: its step is NaN, the rest is 0.
//
// Source: ActNN (ICML 2021), per-group quantization.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/counter_random.hpp"
#include "tensor/element.hpp"
#include "base/isa.hpp"

namespace halfbyte::tensor {

// Groups are multiples of the least: whole vectors on every instruction set, whole bytes of codes.
constexpr std::size_t kLeastGroup = 32;
constexpr std::size_t kMostGroup = 1024;

struct GroupFormat {
  int bits;           // 1, 2, 3, 4 or 8
  std::size_t group;  // elements
};

struct Rounding {
  bool stochastic;
  Stream stream;  // of random numbers, if so
};

constexpr std::size_t code_bytes(std::size_t elements, int bits) {
  const auto width = static_cast<std::size_t>(bits);
  return elements / 8 * width + (elements % 8 * width + 7) / 8;
}

constexpr std::size_t num_groups(std::size_t elements, GroupFormat format) {
  return (elements + format.group - 1) / format.group;
}

// An encoded tensor: code_bytes() of codes, and of each of num_groups() the least element (of the tensor's type) and
// the step (bfloat16).
struct GroupParts {
  std::uint8_t* codes;
  void* least;
  std::uint16_t* steps;
};
struct GroupView {
  const std::uint8_t* codes;
  const void* least;
  const std::uint16_t* steps;
};

// Returns how many groups are to be kept elsewhere.
std::size_t encode_groups(const void* x, Element element, std::size_t count, GroupFormat format, Rounding rounding,
                          const GroupParts& parts, int num_threads);

// Likewise; these groups become NaN.
std::size_t decode_groups(const GroupView& parts, Element element, std::size_t count, GroupFormat format, void* x,
                          int num_threads);

// By element type, for whole groups, of which only the last of a tensor may be short. `first` is the index of the first
// element within the tensor.
struct GroupKernels {
  std::size_t (*encode[3])(const void* x, std::size_t count, GroupFormat format, std::size_t first, Rounding rounding,
                           const GroupParts& parts);
  std::size_t (*decode[3])(const GroupView& parts, std::size_t count, GroupFormat format, void* x);
};
HALFBYTE_DECLARE_KERNELS(GroupKernels, group_kernels)

}  // namespace halfbyte::tensor
