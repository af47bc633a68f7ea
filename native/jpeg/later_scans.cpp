#include "jpeg/later_scans.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "jpeg/coded_bits.hpp"
#include "jpeg/scan_script.hpp"

namespace halfbyte::jpeg {
namespace {

constexpr unsigned kAcClass = 1;
constexpr int kMostBlocks = 10;  // of an interleaved unit (T.81, B.2.3)

class Walk {
 public:
  Walk(std::span<const Bytes> slices, const Limits& limits) : slices_(slices), limits_(limits) {}

  std::optional<LaterScans> run() {
    for (const Bytes slice : slices_) {
      if (!walk(slice)) return std::nullopt;
    }
    if (found_.scans.empty()) return std::nullopt;
    return std::move(found_);
  }

 private:
  bool walk(Bytes slice);
  bool segment(std::uint8_t marker, Bytes payload);
  bool frame(Bytes payload);
  bool codes(Bytes payload);
  bool scan(Bytes payload);
  bool copy_coded(Bytes coded);

  std::span<const Bytes> slices_;
  const Limits& limits_;
  LaterScans found_;
  std::vector<Component> components_;
  std::optional<Progress> progress_;             // once the frame header was there
  std::array<std::optional<std::size_t>, 4> ac_; // which code each table holds
  std::uint32_t scans_ = 0;
};

bool Walk::walk(Bytes slice) {
  std::size_t at = 0;
  if (!progress_ && slice.size() >= 2 && slice[0] == 0xFF && slice[1] == kSoi) at = 2;
  while (at < slice.size()) {
    if (slice.size() - at < 4 || slice[at] != 0xFF) return false;
    const std::uint8_t marker = slice[at + 1];
    const std::size_t length = big_endian_16(&slice[at + 2]);
    if (length < 2 || slice.size() - at - 2 < length) return false;
    const Bytes payload = slice.subspan(at + 4, length - 2);
    const std::size_t begin = at;
    at += 2 + length;
    if (!segment(marker, payload)) return false;
    if (marker != kSos) continue;
    const std::size_t coded = at;
    at = end_of_entropy_coded(slice, at);
    if (found_.scans.empty()) continue;
    if (found_.scans.size() == 1 && begin > 0) found_.head.push_back(slice.first(begin));
    if (!copy_coded(slice.subspan(coded, at - coded))) return false;
  }
  if (found_.scans.empty()) found_.head.push_back(slice);
  return true;
}

bool Walk::segment(std::uint8_t marker, Bytes payload) {
  switch (marker) {
    case kSof2: return frame(payload);
    case kDht: return codes(payload);
    case kSos: return scan(payload);
    case kDqt: return scans_ == 0;
    default: return is_metadata(marker) && scans_ == 0;
  }
}

bool Walk::frame(Bytes payload) {
  if (progress_ || payload.size() < 6 || payload[0] != 8) return false;
  const std::size_t count = payload[5];
  if (count < 1 || count > 4 || payload.size() != 6 + 3 * count) return false;
  for (std::size_t i = 6; i < payload.size(); i += 3) {
    components_.push_back({payload[i], static_cast<std::uint8_t>(payload[i + 1] >> 4),
                           static_cast<std::uint8_t>(payload[i + 1] & 15), payload[i + 2]});
  }
  progress_.emplace(static_cast<int>(count));
  return true;
}

bool Walk::codes(Bytes payload) {
  while (!payload.empty()) {
    if (payload.size() < 17) return false;
    const unsigned table_class = payload[0] >> 4, slot = payload[0] & 15;
    if (table_class > kAcClass || slot > 3) return false;
    HuffmanCode code;
    for (std::size_t length = 1; length <= 16; ++length) {
      code.counts[length] = payload[length];
      code.num_symbols += payload[length];
    }
    const auto symbols = static_cast<std::size_t>(code.num_symbols);
    if (symbols > 256 || payload.size() - 17 < symbols) return false;
    std::copy_n(payload.begin() + 17, symbols, code.symbols.begin());
    payload = payload.subspan(17 + symbols);
    if (table_class != kAcClass) continue;
    ac_[slot] = found_.codes.size();
    found_.codes.push_back(code);
  }
  return true;
}

bool Walk::scan(Bytes payload) {
  if (!progress_ || payload.empty() || ++scans_ > limits_.max_scans) return false;
  const std::size_t count = payload[0];
  if (count < 1 || count > 4 || payload.size() != 4 + 2 * count) return false;
  LaterScan scan;
  RequestedScan asked;
  int blocks = 0;
  std::size_t slot = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto is_it = [id = payload[1 + 2 * i]](const Component& component) { return component.id == id; };
    const auto& all = components_;
    const auto component = std::find_if(all.begin(), all.end(), is_it);
    if (component == all.end()) return false;
    scan.spec.components[scan.spec.count++] = static_cast<std::uint8_t>(component - all.begin());
    asked.components.push_back(static_cast<int>(component - all.begin()));
    blocks += component->h * component->v;
    slot = payload[2 + 2 * i] & 15;
  }
  const Bytes tail = payload.last(3);
  asked.ss = scan.spec.ss = tail[0];
  asked.se = scan.spec.se = tail[1];
  asked.ah = scan.spec.ah = tail[2] >> 4;
  asked.al = scan.spec.al = tail[2] & 15;
  if (!progress_->take(asked).empty() || (count > 1 && blocks > kMostBlocks)) return false;
  if (asked.ss == 0 && asked.ah == 0) return found_.scans.empty();  // DC
  if (asked.ss != 0) {
    if (slot > 3 || !ac_[slot]) return false;
    scan.code = *ac_[slot];
  }
  found_.scans.push_back(scan);
  return true;
}

// Keeps the bits of data that is nothing but bytes and stuffed zeros.
bool Walk::copy_coded(Bytes coded) {
  LaterScan& scan = found_.scans.back();
  scan.begin = found_.bits.size();
  found_.bits.resize(scan.begin + coded.size() + kBitPadding);
  std::uint8_t* to = found_.bits.data() + scan.begin;
  for (const std::uint8_t *from = coded.data(), *end = from + coded.size(); from < end;) {
    const auto left = static_cast<std::size_t>(end - from);
    const auto* stuffed = static_cast<const std::uint8_t*>(std::memchr(from, 0xFF, left));
    if (stuffed == nullptr) {
      to = std::copy(from, end, to);
      break;
    }
    if (stuffed + 1 == end || stuffed[1] != 0) return false;
    to = std::copy(from, stuffed + 1, to);
    from = stuffed + 2;
  }
  scan.end = static_cast<std::size_t>(to - found_.bits.data()) + kBitPadding;
  found_.bits.resize(scan.end);
  for (std::uint8_t* byte = found_.bits.data() + scan.begin; byte < to; ++byte) {
    *byte = static_cast<std::uint8_t>(reversed(*byte, 8));
  }
  std::fill_n(to, kBitPadding, std::uint8_t{0});
  return true;
}

}  // namespace

std::optional<LaterScans> later_scans(std::span<const Bytes> slices, const Limits& limits) {
  return Walk(slices, limits).run();
}

}  // namespace halfbyte::jpeg
