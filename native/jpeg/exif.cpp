#include "jpeg/exif.hpp"

namespace halfbyte::jpeg {
namespace {

constexpr std::uint16_t kOrientation = 0x0112;
constexpr std::size_t kEntry = 12;  // tag 2, type 2, count 4, value or offset 4
enum Type : std::uint16_t { kByte = 1, kShort = 3, kLong = 4 };

// Numbers of a TIFF file, in the byte order that it states. Reads past the end give 0, which no field here allows.
struct Tiff {
  Bytes bytes;
  bool little;

  [[nodiscard]] std::uint32_t number(std::size_t at, int width) const {
    if (at > bytes.size() || bytes.size() - at < static_cast<std::size_t>(width)) return 0;
    std::uint32_t value = 0;
    for (int i = 0; i < width; ++i) value = (value << 8) | bytes[at + (little ? width - 1 - i : i)];
    return value;
  }

  [[nodiscard]] std::uint32_t value_of_entry(std::size_t entry) const {
    if (number(entry + 4, 4) != 1) return 0;  // one value, which then stands in the entry itself
    switch (number(entry + 2, 2)) {
      case kByte: return number(entry + 8, 1);
      case kShort: return number(entry + 8, 2);
      case kLong: return number(entry + 8, 4);
      default: return 0;
    }
  }
};

}  // namespace

std::uint8_t exif_orientation(Bytes tiff) {
  const bool little = starts_with(tiff, {"II*\0", 4});
  if (!little && !starts_with(tiff, {"MM\0*", 4})) return 1;
  const Tiff file{tiff, little};
  const std::size_t directory = file.number(4, 4);
  const std::size_t count = file.number(directory, 2);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t entry = directory + 2 + i * kEntry;
    if (entry + kEntry > tiff.size()) return 1;
    if (file.number(entry, 2) != kOrientation) continue;
    const std::uint32_t value = file.value_of_entry(entry);
    return value >= 1 && value <= 8 ? static_cast<std::uint8_t>(value) : 1;
  }
  return 1;
}

}  // namespace halfbyte::jpeg
