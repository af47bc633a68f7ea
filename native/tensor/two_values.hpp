// Tensors that hold nothing but 0 and one other value, as the noise of dropout does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/isa.hpp"

namespace halfbyte::tensor {

// The other value's bits (0 when there is no other), or nothing when there are several; elements are of `width` 2 or 4
// bytes and compared as bits. bits[i] = x[i] is not 0, unless `bits` is null; some are missing when there are several,
// because the search stops at the first.
std::optional<std::uint32_t> pack_two_values(const void* x, std::size_t width, std::size_t count, std::uint8_t* bits,
                                             int num_threads);

struct TwoValuesKernels {
  // Whether no element is neither.
  bool (*pack_16)(const std::uint16_t* x, std::size_t count, std::uint16_t value, std::uint8_t* bits);
  bool (*pack_32)(const std::uint32_t* x, std::size_t count, std::uint32_t value, std::uint8_t* bits);
};
HALFBYTE_DECLARE_KERNELS(TwoValuesKernels, two_values_kernels)

}  // namespace halfbyte::tensor
