#include <algorithm>
#include <cstring>

#include "jpeg/decode.hpp"

namespace halfbyte::jpeg {
namespace {

// Reads bytes across slices.
class Cursor {
 public:
  explicit Cursor(std::span<const Bytes> slices) : slices_(slices) {}

  // The next byte, or -1 at the end.
  int next() {
    while (slice_ < slices_.size()) {
      if (at_ < slices_[slice_].size()) return slices_[slice_][at_++];
      advance();
    }
    return -1;
  }

  void skip(std::size_t count) {
    while (slice_ < slices_.size()) {
      const std::size_t step = std::min(count, slices_[slice_].size() - at_);
      at_ += step;
      count -= step;
      if (count == 0) return;
      advance();
    }
  }

  // Goes behind the next byte of this value; false when there is none.
  bool find(int value) {
    for (; slice_ < slices_.size(); advance()) {
      const Bytes rest = slices_[slice_].subspan(at_);
      if (rest.empty()) continue;
      const void* found = std::memchr(rest.data(), value, rest.size());
      if (found == nullptr) continue;
      at_ += static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - rest.data()) + 1;
      return true;
    }
    return false;
  }

 private:
  void advance() {
    ++slice_;
    at_ = 0;
  }

  std::span<const Bytes> slices_;
  std::size_t slice_ = 0, at_ = 0;
};

constexpr int kStartOfImage = 0xD8, kEndOfImage = 0xD9, kStartOfScan = 0xDA;

// In entropy-coded data FF is stuffed with 00; restart markers, TEM and fill bytes have no length either.
bool stands_alone(int marker) {
  return marker == 0x00 || marker == 0x01 || marker == 0xFF || (marker >= 0xD0 && marker <= kStartOfImage);
}

int length_of_segment(Cursor& cursor) {
  const int high = cursor.next();
  const int low = cursor.next();
  return low < 0 ? -1 : high << 8 | low;
}

// The last coefficient of the band that a scan codes: Se of its header. -1 for a broken header.
int end_of_band(Cursor& cursor, int length) {
  const int components = cursor.next();
  if (components < 1 || length != 6 + 2 * components) return -1;
  cursor.skip(static_cast<std::size_t>(2 * components + 1));
  return cursor.next();
}

}  // namespace

bool holds_only_dc(std::span<const Bytes> slices) {
  Cursor cursor(slices);
  int scans = 0;
  while (cursor.find(0xFF)) {
    int marker = cursor.next();
    while (marker == 0xFF) marker = cursor.next();
    if (marker < 0 || marker == kEndOfImage) break;
    if (stands_alone(marker)) continue;
    const int length = length_of_segment(cursor);
    if (length < 2) return false;
    if (marker == kStartOfScan) {
      if (end_of_band(cursor, length) != 0) return false;
      ++scans;
    } else {
      cursor.skip(static_cast<std::size_t>(length - 2));
    }
  }
  return scans > 0;
}

}  // namespace halfbyte::jpeg
