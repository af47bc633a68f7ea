// Scaled fixed point (JPEG-ACT, section III): every channel of a tensor in codes of 8 or 4 bits. A code is
// rint(x * inverse), clipped to what the code can hold; a value is code * scale. 4-bit codes lie two in a byte, the
// first in the low half. Signed codes are in two's complement; a tensor without elements below 0 has unsigned ones.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/element.hpp"
#include "base/isa.hpp"

namespace halfbyte::tensor {

// A tensor in memory order, as a contiguous (outer, channels, inner) array.
struct ChannelArray {
  Element element;
  std::size_t outer, channels, inner;

  [[nodiscard]] std::size_t count() const { return outer * channels * inner; }
};

struct SfprKind {
  bool is_unsigned;
  bool is_finite;  // whether all channels are; others have a scale of NaN
};

// Codes of 8 or 4 bits to `codes`, (count * bits + 7) / 8 bytes. `levels`: the signed code of a channel's largest
// magnitude; twice that when codes are unsigned. scales: one a channel; 0 where all elements are 0, or so small that
// levels / maximum is not finite.
SfprKind sfpr_encode(const void* x, const ChannelArray& array, int bits, float levels, float* scales,
                     std::uint8_t* codes, int num_threads);
void sfpr_decode(const std::uint8_t* codes, const float* scales, const ChannelArray& array, int bits, bool is_unsigned,
                 void* x, int num_threads);

// The same in 8 bits, without the codes of elements that are 0 (whereas codes can be 0 without that): bit i of `mask`
// says whether element i has a code. counts[k]: codes of the k-th run of kZvcRun elements.
constexpr std::size_t kZvcRun = 1 << 14;
constexpr std::size_t zvc_runs(std::size_t count) { return (count + kZvcRun - 1) / kZvcRun; }

struct SfprZvc {
  SfprKind kind;
  std::size_t codes;  // how many; they are in the workspace
};

// Throws std::bad_alloc.
SfprZvc sfpr_zvc_encode(const void* x, const ChannelArray& array, float levels, float* scales, std::uint8_t* mask,
                        std::int32_t* counts, int num_threads);
// The codes from the workspace of this thread, in which nothing else may have happened since.
void sfpr_zvc_gather(const std::int32_t* counts, std::size_t runs, std::uint8_t* codes, int num_threads);

// False when counts and mask disagree or are not of `num_codes` codes; x is undefined then.
bool sfpr_zvc_decode(const std::uint8_t* mask, const std::int32_t* counts, const std::uint8_t* codes,
                     std::size_t num_codes, const float* scales, const ChannelArray& array, bool is_unsigned, void* x,
                     int num_threads);

// Factors of elements, one for each `run` consecutive ones: that of element i is table[i / run % period].
struct Factors {
  const float* table;
  std::size_t period, run;
};

// Elements [first, first + count), in memory order.
struct SfprSlice {
  Factors factors;  // inverse scales to encode with, scales to decode with
  bool is_unsigned;
  std::size_t first = 0, count = 0;
};

// `x` is the whole tensor; codes and masks are those of the slice.
struct SfprKernels {
  void (*encode8)(const void* x, const SfprSlice& slice, std::uint8_t* codes);
  void (*decode8)(const std::uint8_t* codes, const SfprSlice& slice, void* x);
  void (*encode4)(const void* x, const SfprSlice& slice, std::uint8_t* codes);
  void (*decode4)(const std::uint8_t* codes, const SfprSlice& slice, void* x);
  // Returns the number of codes. Up to 64 bytes behind the last one change.
  std::size_t (*encode_zvc)(const void* x, const SfprSlice& slice, std::uint8_t* mask, std::uint8_t* codes);
  // False, and nothing is read, unless the mask has `num_codes` bits.
  bool (*decode_zvc)(const std::uint8_t* mask, const std::uint8_t* codes, std::size_t num_codes,
                     const SfprSlice& slice, void* x);
};
struct SfprKernelsOfElements {
  SfprKernels of[3];  // by Element
};
HALFBYTE_DECLARE_KERNELS(SfprKernelsOfElements, sfpr_kernels)

}  // namespace halfbyte::tensor
