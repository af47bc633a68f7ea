// Tensors cross the border as addresses: a framework's own exchange protocols cost more than small kernels do. Python
// owns every buffer, keeps it alive during the call, and has checked its size; the functions are not for users.
#pragma once

#include <cstdint>

#include "tensor/element.hpp"

namespace halfbyte::bind {

// 0 float32, 1 bfloat16, 2 float16; raises ValueError for others.
tensor::Element element_of(int code);

template <class T>
T* pointer(std::uintptr_t address) {
  return reinterpret_cast<T*>(address);  // NOLINT(performance-no-int-to-ptr)
}

}  // namespace halfbyte::bind
