// Zero-value coding (Rhu et al., "Compressing DMA Engine", HPCA 2018): one bit an element that says whether any bit of
// it is set, and the elements where one is. An encoder scans, makes room for exactly that many values, and compacts:
// reading the tensor again costs no more than copying values from scratch memory would, which could grow as large as
// the tensor.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/element.hpp"
#include "base/isa.hpp"

namespace halfbyte::tensor {

struct ZeroScan {
  std::size_t num_values;
  bool negative;  // some element is below zero, -0 or NaN, so that the mask does not say what is > 0
};

// bits[i] = any bit of x[i] is set.
ZeroScan scan_zeros(const void* x, Element element, std::size_t count, std::uint8_t* bits, int num_threads);

// The values may be held as the elements are, or those of float32 in 16 bits.
struct ZeroFormat {
  Element element;
  Element value;
};

// The elements whose bit is set, one after the other: as many as scan_zeros said. Whether all values that were finite
// still are.
bool compact(const void* x, std::size_t count, const std::uint8_t* bits, ZeroFormat format, void* values,
             int num_threads);

// Puts values back where their bits are set, and zeros elsewhere. Returns false, and writes nothing, when the mask has
// another number of bits than there are values, or one after the last element.
[[nodiscard]] bool expand(const std::uint8_t* bits, std::size_t count, const void* values, std::size_t num_values,
                          ZeroFormat format, void* out, int num_threads);

// On a piece, and values from their begin to their end.
struct ZeroValueKernels {
  std::size_t (*count_ones)(const std::uint8_t* bits, std::size_t count);
  bool (*scan_16)(const void* x, std::size_t count, std::uint16_t infinity, std::uint8_t* bits);
  bool (*scan_32)(const void* x, std::size_t count, std::uint32_t infinity, std::uint8_t* bits);
  bool (*compact[4])(const void* x, std::size_t count, const std::uint8_t* bits, void* values, const void* end);
  void (*expand[4])(const std::uint8_t* bits, std::size_t count, const void* values, const void* end, void* out);
};
HALFBYTE_DECLARE_KERNELS(ZeroValueKernels, zero_value_kernels)

}  // namespace halfbyte::tensor
