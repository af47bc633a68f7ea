// Any bytes as the slices of one image: pixels or a reason. The last bytes say how to cut and what to make of it, so
// that an ordinary JPEG file is a seed too.
#include <algorithm>

#include "base/bytes.hpp"
#include "fuzz/fuzz.hpp"
#include "jpeg/decode.hpp"
#include "jpeg/markers.hpp"

using namespace halfbyte;
using fuzz::require;

namespace {

// Numbers taken from the end of the input.
struct Choices {
  Bytes data;

  std::uint8_t byte() {
    if (data.empty()) return 0;
    const std::uint8_t value = data.back();
    data = data.first(data.size() - 1);
    return value;
  }
  double fraction() { return byte() / 255.0; }
};

struct Size {
  std::uint32_t width, height;
};

// The size that the header states, for a frame header that the walk reaches; else whatever.
Size stated_size(Bytes stream, Choices& choices) {
  Buffer whole(stream.begin(), stream.end());
  whole.push_back(0xFF);
  whole.push_back(jpeg::kEoi);
  const auto info = jpeg::inspect(whole, fuzz::kLimits);
  if (info.ok()) return {info.value().width, info.value().height};
  return {1U + choices.byte() % 64, 1U + choices.byte() % 64};
}

std::vector<Bytes> cut(Bytes stream, Choices& choices) {
  std::vector<Bytes> slices;
  for (int i = choices.byte() % 4; i > 0; --i) {
    const auto length = static_cast<std::size_t>(choices.fraction() * static_cast<double>(stream.size()));
    slices.push_back(stream.first(length));
    stream = stream.subspan(length);
  }
  slices.push_back(stream);
  return slices;
}

image::Request request_of(Size size, Choices& choices, Buffer& out) {
  const int exif = 1 + choices.byte() % 8;
  const double width = exif > 4 ? size.height : size.width, height = exif > 4 ? size.width : size.height;
  const double left = choices.fraction() * (width - 1), top = choices.fraction() * (height - 1);
  const image::Box box{left, top, 1 + choices.fraction() * (width - left - 1),
                       1 + choices.fraction() * (height - top - 1)};
  const int columns = 1 + choices.byte() % 64, rows = 1 + choices.byte() % 64;
  const int channels = choices.byte() % 2 == 0 ? 3 : 1;
  out.assign(static_cast<std::size_t>(columns) * rows * channels, 0);
  const image::View view{out.data(), columns * channels, channels, 1, rows, columns, channels, nullptr};
  return {box, choices.byte() % 2 == 0, exif, choices.byte() % 2 == 0, view};
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Choices choices{Bytes(data, size)};
  jpeg::DecodeOptions options{fuzz::kLimits, static_cast<double>(choices.byte() % 3)};
  const bool ends = size >= 2 && data[size - 1] == jpeg::kEoi && data[size - 2] == 0xFF;
  const Bytes stream = Bytes(data, size).first(ends ? size - 2 : size);
  const Size image_size = stated_size(stream, choices);
  const std::vector<Bytes> slices = cut(stream, choices);
  Buffer out;
  const image::Request request = request_of(image_size, choices, out);
  const Status status = jpeg::decode({slices, image_size.width, image_size.height, request}, options);
  require(status.ok() || !status.message.empty(), "every refusal has a reason");
  require(status.code != Code::illegal_script, "a file is refused for what it is");
  (void)jpeg::holds_only_dc(slices);
  return 0;
}
