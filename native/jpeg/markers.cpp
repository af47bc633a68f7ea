#include "jpeg/markers.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "jpeg/exif.hpp"

namespace halfbyte::jpeg {
namespace {

using std::to_string;

constexpr std::string_view kJfifTag{"JFIF\0", 5}, kAdobeTag{"Adobe", 5}, kExifTag{"Exif\0\0", 6};
constexpr std::string_view kIccTag{"ICC_PROFILE\0", 12}, kXmpTag{"http://ns.adobe.com/xap/1.0/\0", 29};
constexpr std::size_t kJfifSize = 14, kAdobeSize = 12;  // payloads; shorter ones are not taken for these markers

std::string hex(std::uint8_t byte) {
  char text[8];
  std::snprintf(text, sizeof text, "0x%02X", byte);
  return text;
}

Status corrupt(std::string message) { return Status::failure(Code::corrupt_image, "damaged: " + std::move(message)); }
Status unsupported(std::string message) { return Status::failure(Code::unsupported_image, std::move(message)); }
Status over(std::string got, std::uint64_t limit, std::string_view name) {
  return Status::failure(Code::limit_exceeded, std::move(got) + ", over the limit of " + to_string(limit) + " (" +
                                                   std::string(name) + ")");
}

class Walk {
 public:
  Walk(Bytes data, const Limits& limits) : data_(data), limits_(limits) {}

  Result<JpegInfo> run() {
    Status status = start();
    while (status.ok() && info_.end_of_image == 0) status = step();
    if (!status.ok()) return status;
    return std::move(info_);
  }

 private:
  Status start();
  Status step();
  Status segment(std::uint8_t marker, std::size_t begin);
  Status frame(std::uint8_t marker, Bytes payload);
  Status check_limits() const;
  Status scan(Bytes payload);
  Status scan_component(std::uint8_t id, ScanSpec& spec) const;
  Status restart_interval(Bytes payload);
  Status end_of_image();
  void metadata(const Segment& segment, Bytes payload);

  [[nodiscard]] Status need(std::size_t bytes) const {
    return Status::need_more("the JPEG goes on after byte " + to_string(data_.size()) + ": at least " +
                                 to_string(bytes) + " bytes are needed",
                             data_.size(), bytes);
  }
  [[nodiscard]] std::string here() const { return " at byte " + to_string(at_); }

  Bytes data_;
  const Limits& limits_;
  std::size_t at_ = 0;
  JpegInfo info_;
};

Status Walk::start() {
  for (std::size_t i = 0; i < 2; ++i) {
    if (i == data_.size()) return need(2);
    if (data_[i] != (i == 0 ? 0xFF : kSoi)) {
      return Status::failure(Code::corrupt_image, "not a JPEG: byte " + to_string(i) + " is " + hex(data_[i]) +
                                                      ", but a JPEG starts with 0xFF 0xD8");
    }
  }
  at_ = 2;
  return {};
}

Status Walk::step() {
  if (at_ == data_.size()) return need(at_ + 2);
  if (data_[at_] != 0xFF) return corrupt("expected a marker" + here() + ", found " + hex(data_[at_]));
  std::size_t code = at_ + 1;
  while (code < data_.size() && data_[code] == 0xFF) ++code;  // fill bytes (B.1.1.2)
  if (code == data_.size()) return need(code + 1);
  const std::uint8_t marker = data_[code];
  if (marker == 0 || marker == kSoi || is_restart(marker)) {
    return corrupt("marker " + hex(marker) + here() + " does not belong between segments");
  }
  at_ = code + 1;
  if (marker == kTem) return {};
  if (marker == kEoi) return end_of_image();
  return segment(marker, code - 1);
}

Status Walk::segment(std::uint8_t marker, std::size_t begin) {
  if (data_.size() - at_ < 2) return need(at_ + 2);
  const std::size_t length = big_endian_16(&data_[at_]);
  if (length < 2) return corrupt("a segment of " + to_string(length) + " bytes" + here() + ", expected 2 or more");
  if (data_.size() - at_ < length) return need(at_ + length);
  const Bytes payload = data_.subspan(at_ + 2, length - 2);
  at_ += length;
  if (is_hierarchical(marker)) return unsupported("hierarchical JPEG: marker " + hex(marker));
  if (is_frame(marker)) return frame(marker, payload);
  if (is_metadata(marker)) {
    metadata({marker, begin, at_}, payload);
    return {};
  }
  switch (marker) {
    case kSos: return scan(payload);
    case kDri: return restart_interval(payload);
    case kDqt:
    case kDht:
    case kDac:
    case kDnl: return {};  // their contents are the decoder's to judge
    case kSof55:
    case kLse: return unsupported("JPEG-LS: marker " + hex(marker));
    default: return corrupt("unknown marker " + hex(marker) + " at byte " + to_string(begin));
  }
}

Status Walk::frame(std::uint8_t marker, Bytes payload) {
  if (!info_.components.empty()) return corrupt("a second frame header before byte " + to_string(at_));
  if (payload.size() < 6 || payload.size() != 6 + std::size_t{3} * payload[5] || payload[5] == 0) {
    return corrupt("a frame header of " + to_string(payload.size()) + " bytes, expected 6 and 3 for each component");
  }
  info_.sof = marker & 0x0F;
  info_.precision = payload[0];
  info_.height = big_endian_16(&payload[1]);
  info_.width = big_endian_16(&payload[3]);
  if (info_.width == 0) return corrupt("the frame header says width 0");
  if (info_.height == 0) return unsupported("height after the first scan: the frame header leaves it to a DNL marker");
  for (std::size_t i = 6; i < payload.size(); i += 3) {
    const Component component{payload[i], static_cast<std::uint8_t>(payload[i + 1] >> 4),
                              static_cast<std::uint8_t>(payload[i + 1] & 15), payload[i + 2]};
    if (component.h < 1 || component.h > 4 || component.v < 1 || component.v > 4) {
      return corrupt("sampling factors " + hex(payload[i + 1]) + " in the frame header, expected 1..4 each");
    }
    for (const Component& other : info_.components) {
      if (other.id == component.id) return corrupt("two components have the id " + to_string(component.id));
    }
    info_.components.push_back(component);
  }
  return check_limits();
}

Status Walk::check_limits() const {
  const std::uint64_t width = info_.width, height = info_.height;
  if (width * height > limits_.max_pixels) {
    return over(to_string(width) + " x " + to_string(height) + " pixels", limits_.max_pixels, "max_pixels");
  }
  if (info_.components.size() > limits_.max_components) {
    return over(to_string(info_.components.size()) + " components", limits_.max_components, "max_components");
  }
  std::uint64_t max_h = 1, max_v = 1, bytes = 0;
  for (const Component& component : info_.components) {
    max_h = std::max<std::uint64_t>(max_h, component.h);
    max_v = std::max<std::uint64_t>(max_v, component.v);
  }
  for (const Component& component : info_.components) {  // planes in whole interleaved units
    const std::uint64_t columns = (width + 8 * max_h - 1) / (8 * max_h) * component.h;
    const std::uint64_t rows = (height + 8 * max_v - 1) / (8 * max_v) * component.v;
    bytes += columns * rows * 128;
  }
  if (bytes > limits_.max_coefficient_bytes) {
    return over(to_string(bytes) + " bytes of coefficients", limits_.max_coefficient_bytes, "max_coefficient_bytes");
  }
  return {};
}

Status Walk::scan(Bytes payload) {
  if (info_.components.empty()) return corrupt("a scan before the frame header, at byte " + to_string(at_));
  if (payload.empty() || payload[0] < 1 || payload[0] > 4 || payload.size() != 4 + std::size_t{2} * payload[0]) {
    return corrupt("a scan header of " + to_string(payload.size()) + " bytes, expected 4 and 2 a component (1..4)");
  }
  if (info_.scans.size() == limits_.max_scans) {
    return over("more than " + to_string(limits_.max_scans) + " scans", limits_.max_scans, "max_scans");
  }
  Scan scan;
  for (std::size_t i = 1; i + 3 < payload.size(); i += 2) {
    if (Status status = scan_component(payload[i], scan.spec); !status.ok()) return status;
  }
  const Bytes tail = payload.last(3);
  scan.spec.ss = tail[0];
  scan.spec.se = tail[1];
  scan.spec.ah = tail[2] >> 4;
  scan.spec.al = tail[2] & 15;
  scan.begin = info_.scans.empty() ? 0 : info_.scans.back().end;
  scan.end = end_of_entropy_coded(data_, at_);
  if (scan.end == data_.size()) return need(data_.size() + (data_.back() == 0xFF ? 1 : 2));
  at_ = scan.end;
  info_.scans.push_back(scan);
  return {};
}

Status Walk::scan_component(std::uint8_t id, ScanSpec& spec) const {
  const auto& all = info_.components;
  const auto found = std::find_if(all.begin(), all.end(), [id](const Component& c) { return c.id == id; });
  if (found == all.end()) return corrupt("a scan of component id " + to_string(id) + ", which the frame lacks");
  const auto index = static_cast<std::uint8_t>(found - all.begin());
  const auto end = spec.components.cbegin() + spec.count;
  if (std::find(spec.components.cbegin(), end, index) != end) {
    return corrupt("a scan that names component id " + to_string(id) + " twice");
  }
  spec.components[spec.count++] = index;
  return {};
}

Status Walk::restart_interval(Bytes payload) {
  if (payload.size() != 2) return corrupt("a restart interval of " + to_string(payload.size()) + " bytes, expected 2");
  info_.restart_interval = big_endian_16(payload.data());
  return {};
}

Status Walk::end_of_image() {
  if (info_.scans.empty()) return corrupt("the image ends before its first scan, at byte " + to_string(at_));
  info_.end_of_image = at_;
  info_.trailing = data_.size() - at_;
  return {};
}

void Walk::metadata(const Segment& segment, Bytes payload) {
  info_.metadata.push_back(segment);
  const bool jfif = segment.marker == kApp0 && starts_with(payload, kJfifTag) && payload.size() >= kJfifSize;
  const bool adobe = segment.marker == kApp14 && starts_with(payload, kAdobeTag) && payload.size() >= kAdobeSize;
  const bool exif = segment.marker == kApp1 && starts_with(payload, kExifTag);
  const bool icc = segment.marker == kApp2 && starts_with(payload, kIccTag);
  info_.late_markers |= !info_.components.empty() && (jfif || adobe || exif || icc);
  if (!info_.scans.empty()) {
    // Decoders have made up their minds.
  } else if (jfif) {
    info_.jfif = segment;
  } else if (adobe) {
    info_.adobe = segment;
    info_.adobe_transform = payload[kAdobeSize - 1];
  } else if (exif && !info_.has_exif) {
    info_.orientation = exif_orientation(payload.subspan(kExifTag.size()));
  }
  info_.has_exif |= exif;
  info_.has_icc |= icc;
  info_.has_xmp |= segment.marker == kApp1 && starts_with(payload, kXmpTag);
  info_.has_comment |= segment.marker == kCom;
}

}  // namespace

std::size_t end_of_entropy_coded(Bytes data, std::size_t at) {
  while (at < data.size()) {
    const void* found = std::memchr(data.data() + at, 0xFF, data.size() - at);
    if (found == nullptr) break;
    const auto begin = static_cast<std::size_t>(static_cast<const std::uint8_t*>(found) - data.data());
    std::size_t code = begin + 1;
    while (code < data.size() && data[code] == 0xFF) ++code;
    if (code == data.size()) break;
    if (data[code] != 0 && !is_restart(data[code])) return begin;
    at = code + 1;
  }
  return data.size();
}

Result<JpegInfo> inspect(Bytes data, const Limits& limits) { return Walk(data, limits).run(); }

}  // namespace halfbyte::jpeg
