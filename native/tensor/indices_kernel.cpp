#include "tensor/indices.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

// Plain loops: compilers know what to do with them.

template <class T>
Range range(const void* x, std::size_t count) {
  const T* const elements = static_cast<const T*>(x);
  T least = elements[0];
  T greatest = elements[0];
  for (std::size_t i = 1; i < count; ++i) {
    least = elements[i] < least ? elements[i] : least;
    greatest = elements[i] > greatest ? elements[i] : greatest;
  }
  return {least, greatest};
}

template <class From, class To>
void convert(const void* x, std::size_t count, void* out) {
  const From* const elements = static_cast<const From*>(x);
  To* const converted = static_cast<To*>(out);
  for (std::size_t i = 0; i < count; ++i) converted[i] = static_cast<To>(elements[i]);
}

}  // namespace

const IndexKernels index_kernels = {
    .range = {range<std::uint8_t>, range<std::int16_t>, range<std::int32_t>, range<std::int64_t>},
    .convert =
        {
            {convert<std::uint8_t, std::uint8_t>, convert<std::uint8_t, std::int16_t>,
             convert<std::uint8_t, std::int32_t>, convert<std::uint8_t, std::int64_t>},
            {convert<std::int16_t, std::uint8_t>, convert<std::int16_t, std::int16_t>,
             convert<std::int16_t, std::int32_t>, convert<std::int16_t, std::int64_t>},
            {convert<std::int32_t, std::uint8_t>, convert<std::int32_t, std::int16_t>,
             convert<std::int32_t, std::int32_t>, convert<std::int32_t, std::int64_t>},
            {convert<std::int64_t, std::uint8_t>, convert<std::int64_t, std::int16_t>,
             convert<std::int64_t, std::int32_t>, convert<std::int64_t, std::int64_t>},
        },
};

}  // namespace halfbyte::tensor::HALFBYTE_ISA
