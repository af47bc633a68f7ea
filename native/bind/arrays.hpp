// Array arguments: checked, with messages that say what is wrong, and copied where another thread could change them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "base/bytes.hpp"
#include "image/pixels.hpp"
#include "image/view.hpp"

namespace halfbyte::bind {

using Array = nanobind::ndarray<nanobind::ro>;

[[noreturn]] void refuse(const std::string& message);  // raises ValueError

// "(3, 5) int64": what an array is, for messages.
std::string describe(const Array& array);

// Raises ValueError unless the array has this shape (-1: any) and is in main memory.
void check_shape(const Array& array, std::string_view name, std::initializer_list<std::int64_t> shape,
                 std::string_view type);

// The elements in row-major order. Raises ValueError for another shape or type.
template <class T>
std::vector<T> elements(const Array& array, std::string_view name, std::initializer_list<std::int64_t> shape,
                        std::string_view type);

// Bytes of objects that support the buffer protocol, held until destruction (under the lock).
class Buffers {
 public:
  explicit Buffers(nanobind::sequence objects);
  ~Buffers();
  Buffers(const Buffers&) = delete;
  Buffers& operator=(const Buffers&) = delete;

  [[nodiscard]] std::size_t size() const { return views_.size(); }
  // Raises ValueError when the range is not within the buffer.
  [[nodiscard]] Bytes slice(std::size_t index, std::int64_t buffer, std::int64_t offset, std::int64_t length) const;

 private:
  std::vector<Py_buffer> views_;
};

// A writable destination of shape (..., C, H, W) with C 1 or 3, uint8, or float32 with a table of shape (C, 256).
class Destination {
 public:
  Destination(nanobind::object out, const std::optional<Array>& table, std::size_t dimensions);

  [[nodiscard]] std::size_t samples() const { return samples_; }
  // Of sample i, when there are any.
  [[nodiscard]] image::View view(std::size_t i) const;

 private:
  nanobind::ndarray<> array_;
  std::vector<float> table_;
  std::size_t samples_ = 1;
  std::ptrdiff_t sample_stride_ = 0;
  image::View first_{};
};

// A picture (height, width, 1 or 3), or (height, width); rows contiguous. Raises ValueError.
image::Pixels pixels_of(const Array& array, std::string_view name);

// The box within a picture of this (upright) size; raises ValueError when it is empty or more than rounding outside.
image::Box checked_box(const double* box, double width, double height, const std::string& name);

// 1..8; raises ValueError.
int checked_orientation(std::int64_t orientation, const std::string& name);

}  // namespace halfbyte::bind
