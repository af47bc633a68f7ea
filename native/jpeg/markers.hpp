// The structure of a JPEG file, found by walking its segments (ITU-T T.81, Annex B). Nothing is searched for: a
// thumbnail or any other JPEG inside a segment is stepped over, and a prefix of a sound file is told apart from a
// damaged one.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/status.hpp"
#include "jpeg/marker_codes.hpp"

namespace halfbyte::jpeg {

struct Component {
  std::uint8_t id = 0;
  std::uint8_t h = 0, v = 0;  // sampling factors, 1..4
  std::uint8_t table = 0;     // slot of its quantization table
};

// What one scan codes. Components are indices into the frame's list, in its order.
struct ScanSpec {
  std::array<std::uint8_t, 4> components{};
  std::uint8_t count = 0;
  std::uint8_t ss = 0, se = 63, ah = 0, al = 0;

  bool operator==(const ScanSpec&) const = default;
};

// Ranges of consecutive scans tile the file from its first byte to the end of the last scan: what stands before a
// scan's header (tables, for the first one the frame header too) belongs to the scan.
struct Scan {
  ScanSpec spec;
  std::uint64_t begin = 0, end = 0;
};

// One APPn or COM segment, from its marker to the end of its payload.
struct Segment {
  std::uint8_t marker = 0;
  std::uint64_t begin = 0, end = 0;
};

struct JpegInfo {
  std::uint32_t width = 0, height = 0;
  std::uint8_t precision = 0;  // bits a sample
  std::uint8_t sof = 0;        // 0 baseline, 1 extended, 2 progressive, 3 lossless; 9..11: with arithmetic coding
  std::uint16_t restart_interval = 0;  // as in force at the last scan
  std::vector<Component> components;
  std::vector<Scan> scans;
  std::vector<Segment> metadata;  // in file order

  // These follow what stands before the first scan, as decoders do; the last one of a kind counts.
  std::optional<Segment> jfif, adobe;
  std::uint8_t adobe_transform = 0;
  std::uint8_t orientation = 1;  // EXIF, 1..8

  bool has_exif = false, has_icc = false, has_xmp = false, has_comment = false;
  bool late_markers = false;  // a JFIF, Adobe, EXIF or ICC segment after the frame header, where decoders disagree

  std::uint64_t end_of_image = 0;  // just after the end-of-image marker
  std::uint64_t trailing = 0;      // bytes after that
};

// The first offset from `at` on where a marker ends the entropy-coded data, or data.size(). There, 0xFF 0x00 is a data
// byte and restart markers belong to the data; fill bytes may stand before either (B.1.1.5).
std::size_t end_of_entropy_coded(Bytes data, std::size_t at);

// Walks to the end-of-image marker. need_more_bytes: the data is a sound prefix; limit_exceeded: the frame header asks
// for more than the limits allow; unsupported_image: hierarchical files, JPEG-LS, a height given after the first scan.
Result<JpegInfo> inspect(Bytes data, const Limits& limits);

}  // namespace halfbyte::jpeg
