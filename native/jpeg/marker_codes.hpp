// The second bytes of markers (ITU-T T.81, table B.1; JPEG-LS: T.87).
#pragma once

#include <cstdint>

namespace halfbyte::jpeg {

constexpr std::uint8_t kTem = 0x01, kSof2 = 0xC2, kDht = 0xC4, kJpg = 0xC8, kDac = 0xCC, kRst0 = 0xD0, kRst7 = 0xD7;
constexpr std::uint8_t kSoi = 0xD8, kEoi = 0xD9, kSos = 0xDA, kDqt = 0xDB, kDnl = 0xDC, kDri = 0xDD, kDhp = 0xDE;
constexpr std::uint8_t kExp = 0xDF, kApp0 = 0xE0, kApp1 = 0xE1, kApp2 = 0xE2, kApp14 = 0xEE, kApp15 = 0xEF;
constexpr std::uint8_t kSof55 = 0xF7, kLse = 0xF8, kCom = 0xFE;

constexpr bool is_restart(std::uint8_t marker) { return marker >= kRst0 && marker <= kRst7; }

constexpr bool is_frame(std::uint8_t marker) {
  return marker >= 0xC0 && marker <= 0xCF && marker != kDht && marker != kJpg && marker != kDac;
}

// Differential frames occur in hierarchical files only.
constexpr bool is_hierarchical(std::uint8_t marker) {
  return marker == kDhp || marker == kExp || (is_frame(marker) && (marker & 0x0F) % 8 >= 5);
}

constexpr bool is_metadata(std::uint8_t marker) { return marker == kCom || (marker >= kApp0 && marker <= kApp15); }

}  // namespace halfbyte::jpeg
