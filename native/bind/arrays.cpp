#include "bind/arrays.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

constexpr std::size_t kLargestSide = 65535;       // of an output, in pixels
constexpr std::int64_t kLargestSource = 1 << 24;  // of a picture decoded elsewhere
constexpr double kBoxTolerance = 1e-6;            // pixels

std::string shape_text(const std::int64_t* shape, std::size_t dimensions) {
  std::string text = "(";
  for (std::size_t i = 0; i < dimensions; ++i) {
    if (i > 0) text += ", ";
    text += shape[i] < 0 ? "n" : std::to_string(shape[i]);
  }
  return text + (dimensions == 1 ? ",)" : ")");
}

std::string type_name(nb::dlpack::dtype type) {
  const char* kinds[] = {"int", "uint", "float", "handle", "bfloat", "complex", "bool"};
  const std::string kind = type.code < std::size(kinds) ? kinds[type.code] : "other";
  return kind == "bool" ? kind : kind + std::to_string(type.bits);
}

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.10g", value);
  return text;
}

template <class T>
bool fits(nb::dlpack::dtype type) {
  // A numpy bool is a byte that holds 0 or 1.
  return type == nb::dtype<T>() || (std::is_same_v<T, std::uint8_t> && type == nb::dtype<bool>());
}

// (C, H, W) or (n, C, H, W) bytes or floats.
void check_destination(const Array& out, std::size_t dimensions) {
  const std::string expected = dimensions == 4 ? "(n, C, H, W)" : "(C, H, W)";
  const bool floats = out.dtype() == nb::dtype<float>();
  if (out.ndim() != dimensions || (!floats && out.dtype() != nb::dtype<std::uint8_t>()) ||
      out.device_type() != nb::device::cpu::value) {
    refuse("out is " + describe(out) + ", expected " + expected + " uint8 or float32 in main memory");
  }
  const std::size_t channels = out.shape(dimensions - 3);
  const std::size_t height = out.shape(dimensions - 2);
  const std::size_t width = out.shape(dimensions - 1);
  if ((channels != 1 && channels != 3) || std::min(height, width) < 1 || std::max(height, width) > kLargestSide) {
    refuse("out is " + describe(out) + ", expected " + expected +
           " with 1 or 3 channels and sides of 1 to 65535 pixels");
  }
  if (floats && reinterpret_cast<std::uintptr_t>(out.data()) % alignof(float) != 0) {
    refuse("out is not aligned to its elements: allocate it with numpy.empty or torch.empty");
  }
}

}  // namespace

void refuse(const std::string& message) { throw nb::value_error(message.c_str()); }

std::string describe(const Array& array) {
  std::vector<std::int64_t> shape(array.ndim());
  for (std::size_t i = 0; i < shape.size(); ++i) shape[i] = static_cast<std::int64_t>(array.shape(i));
  return shape_text(shape.data(), shape.size()) + " " + type_name(array.dtype());
}

void check_shape(const Array& array, std::string_view name, std::initializer_list<std::int64_t> shape,
                 std::string_view type) {
  bool same = array.ndim() == shape.size() && array.device_type() == nb::device::cpu::value;
  for (std::size_t i = 0; same && i < shape.size(); ++i) {
    const std::int64_t expected = shape.begin()[i];
    same = expected < 0 || static_cast<std::int64_t>(array.shape(i)) == expected;
  }
  if (same) return;
  refuse(std::string(name) + " is " + describe(array) + ", expected " + shape_text(shape.begin(), shape.size()) + " " +
         std::string(type) + " in main memory");
}

template <class T>
std::vector<T> elements(const Array& array, std::string_view name, std::initializer_list<std::int64_t> shape,
                        std::string_view type) {
  check_shape(array, name, shape, type);
  if (!fits<T>(array.dtype())) {
    refuse(std::string(name) + " is " + describe(array) + ", expected " + std::string(type) +
           ": convert it with astype");
  }
  std::vector<T> copy(array.size());
  const std::size_t columns = array.ndim() == 2 ? array.shape(1) : 1;
  const std::int64_t column_stride = array.ndim() == 2 ? array.stride(1) : 0;
  const auto* data = static_cast<const T*>(array.data());
  for (std::size_t i = 0; i < copy.size(); ++i) {
    copy[i] = data[static_cast<std::int64_t>(i / columns) * array.stride(0) +
                   static_cast<std::int64_t>(i % columns) * column_stride];
  }
  return copy;
}

template std::vector<double> elements(const Array&, std::string_view, std::initializer_list<std::int64_t>,
                                      std::string_view);
template std::vector<float> elements(const Array&, std::string_view, std::initializer_list<std::int64_t>,
                                     std::string_view);
template std::vector<std::int64_t> elements(const Array&, std::string_view, std::initializer_list<std::int64_t>,
                                            std::string_view);
template std::vector<std::uint8_t> elements(const Array&, std::string_view, std::initializer_list<std::int64_t>,
                                            std::string_view);

Buffers::Buffers(nb::sequence objects) {
  const std::size_t count = nb::len(objects);
  views_.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const nb::object object = objects[i];
    Py_buffer view;
    if (PyObject_GetBuffer(object.ptr(), &view, PyBUF_SIMPLE) != 0) {
      for (Py_buffer& held : views_) PyBuffer_Release(&held);
      views_.clear();
      throw nb::python_error();
    }
    views_.push_back(view);
  }
}

Buffers::~Buffers() {
  for (Py_buffer& view : views_) PyBuffer_Release(&view);
}

Bytes Buffers::slice(std::size_t index, std::int64_t buffer, std::int64_t offset, std::int64_t length) const {
  const std::string name = "slices[" + std::to_string(index) + "]";
  if (buffer < 0 || static_cast<std::uint64_t>(buffer) >= views_.size()) {
    refuse(name + " names buffer " + std::to_string(buffer) + " of " + std::to_string(views_.size()));
  }
  const Py_buffer& view = views_[static_cast<std::size_t>(buffer)];
  if (offset < 0 || length < 0 || offset > view.len || length > view.len - offset) {
    refuse(name + " is offset " + std::to_string(offset) + ", length " + std::to_string(length) + ", outside buffer " +
           std::to_string(buffer) + " of " + std::to_string(view.len) + " bytes");
  }
  return {static_cast<const std::uint8_t*>(view.buf) + offset, static_cast<std::size_t>(length)};
}

Destination::Destination(nb::object out, const std::optional<Array>& table, std::size_t dimensions) {
  if (!nb::try_cast(out, array_)) refuse("out must be a writable array: allocate it with numpy.empty or torch.empty");
  check_destination(Array(array_), dimensions);
  const bool floats = array_.dtype() == nb::dtype<float>();
  if (floats != table.has_value()) {
    refuse(floats ? "out is float32, so lut must give the value of every pixel: (C, 256) float32"
                  : "out is uint8, so lut must be None: pass a float32 out to normalise");
  }
  const std::size_t c = dimensions - 3;
  const auto channels = static_cast<std::int64_t>(array_.shape(c));
  if (floats) table_ = elements<float>(*table, "lut", {channels, 256}, "float32");
  const std::ptrdiff_t size = floats ? sizeof(float) : 1;
  first_ = {.origin = static_cast<std::uint8_t*>(array_.data()),
            .row_stride = array_.stride(c + 1) * size,
            .column_stride = array_.stride(c + 2) * size,
            .channel_stride = array_.stride(c) * size,
            .rows = static_cast<int>(array_.shape(c + 1)),
            .columns = static_cast<int>(array_.shape(c + 2)),
            .channels = static_cast<int>(channels),
            .table = floats ? table_.data() : nullptr};
  if (dimensions == 4) {
    samples_ = array_.shape(0);
    sample_stride_ = array_.stride(0) * size;
  }
}

image::View Destination::view(std::size_t i) const {
  image::View view = first_;
  view.origin += static_cast<std::ptrdiff_t>(i) * sample_stride_;
  return view;
}

image::Pixels pixels_of(const Array& array, std::string_view name) {
  const bool flat = array.ndim() == 2;
  const std::size_t channels = flat ? 1 : array.ndim() == 3 ? array.shape(2) : 0;
  if ((channels != 1 && channels != 3) || array.dtype() != nb::dtype<std::uint8_t>() ||
      array.device_type() != nb::device::cpu::value) {
    refuse(std::string(name) + " is " + describe(array) +
           ", expected (height, width, 1 or 3) uint8 in main memory: convert it to grey or RGB");
  }
  const auto height = static_cast<std::int64_t>(array.shape(0));
  const auto width = static_cast<std::int64_t>(array.shape(1));
  if (std::min(height, width) < 1 || std::max(height, width) > kLargestSource) {
    refuse(std::string(name) + " is " + describe(array) + ", expected sides of 1 to 16777216 pixels");
  }
  if ((width > 1 && array.stride(1) != static_cast<std::int64_t>(channels)) || (channels > 1 && array.stride(2) != 1)) {
    refuse(std::string(name) + " has rows that are not contiguous: pass it through numpy.ascontiguousarray");
  }
  return {.origin = static_cast<const std::uint8_t*>(array.data()),
          .row_stride = array.stride(0),
          .width = static_cast<int>(width),
          .height = static_cast<int>(height),
          .channels = static_cast<int>(channels)};
}

image::Box checked_box(const double* box, double width, double height, const std::string& name) {
  const double x = box[0];
  const double y = box[1];
  const bool finite = std::all_of(box, box + 4, [](double v) { return std::isfinite(v); });
  if (!finite || box[2] <= 0 || box[3] <= 0 || x < -kBoxTolerance || y < -kBoxTolerance ||
      x + box[2] > width + kBoxTolerance || y + box[3] > height + kBoxTolerance) {
    refuse(name + " is x " + number(x) + ", y " + number(y) + ", width " + number(box[2]) + ", height " +
           number(box[3]) + ", expected a box within the upright picture of " + number(width) + " x " + number(height));
  }
  const double left = std::clamp(x, 0.0, width);
  const double top = std::clamp(y, 0.0, height);
  return {left, top, std::min(box[2], width - left), std::min(box[3], height - top)};
}

int checked_orientation(std::int64_t orientation, const std::string& name) {
  if (orientation >= 1 && orientation <= 8) return static_cast<int>(orientation);
  refuse(name + " is " + std::to_string(orientation) + ", expected an EXIF orientation of 1 to 8");
}

}  // namespace halfbyte::bind
