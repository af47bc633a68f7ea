#include "jpeg/split.hpp"

#include <string>

namespace halfbyte::jpeg {
namespace {

constexpr std::uint8_t kEndOfImage[] = {0xFF, kEoi};

void append(Buffer& out, Bytes bytes) { out.insert(out.end(), bytes.begin(), bytes.end()); }

bool ends_with_eoi(Bytes jpeg) {
  return jpeg.size() >= 2 && jpeg[jpeg.size() - 2] == kEndOfImage[0] && jpeg.back() == kEndOfImage[1];
}

Status check_metadata(Bytes metadata) {
  for (std::size_t at = 0; at < metadata.size();) {
    const Bytes rest = metadata.subspan(at);
    const bool header = rest.size() >= 4 && rest[0] == 0xFF && is_metadata(rest[1]);
    const std::size_t length = header ? big_endian_16(&rest[2]) : 0;
    if (length < 2 || rest.size() - 2 < length) {
      return Status::failure(Code::corrupt_image,
                             "damaged: the stored metadata holds no whole APPn or COM segment at byte " +
                                 std::to_string(at));
    }
    at += 2 + length;
  }
  return {};
}

}  // namespace

Result<std::vector<Bytes>> split(Bytes stream, const Levels& levels) {
  Buffer whole(stream.begin(), stream.end());
  append(whole, kEndOfImage);
  Result<JpegInfo> info = inspect(whole, unlimited());
  if (!info.ok()) return info.status();
  const std::vector<Scan>& scans = info.value().scans;
  std::vector<Bytes> slices;
  std::size_t next = 0, begin = 0;
  bool same = true;
  for (const auto& level : levels) {
    std::size_t end = begin;
    for (const ScanSpec& spec : level) {
      same = same && next < scans.size() && scans[next].spec == spec;
      if (next < scans.size()) end = scans[next++].end;
    }
    slices.push_back(stream.subspan(begin, end - begin));
    begin = end;
  }
  if (!same || next != scans.size() || begin != stream.size()) {
    return Status::failure(Code::corrupt_image, "not equal after transcoding: the scans are not those of the script");
  }
  return slices;
}

Buffer metadata_of(Bytes file, const JpegInfo& info) {
  Buffer out;
  for (const Segment& segment : info.metadata) append(out, file.subspan(segment.begin, segment.end - segment.begin));
  return out;
}

Result<Buffer> restore_metadata(Bytes jpeg, Bytes metadata, Bytes trailing) {
  if (Status status = check_metadata(metadata); !status.ok()) return status;
  Buffer whole(jpeg.begin(), jpeg.end());
  if (!ends_with_eoi(jpeg)) append(whole, kEndOfImage);
  Result<JpegInfo> info = inspect(whole, unlimited());
  if (!info.ok()) return info.status();
  const Bytes all = Bytes(whole).first(info.value().end_of_image);
  Buffer out;
  out.reserve(all.size() + metadata.size() + trailing.size());
  append(out, all.first(2));
  append(out, metadata);
  std::size_t at = 2;
  for (const Segment& segment : info.value().metadata) {
    if (metadata.empty()) break;
    append(out, all.subspan(at, segment.begin - at));
    at = segment.end;
  }
  append(out, all.subspan(at));
  append(out, trailing);
  return out;
}

}  // namespace halfbyte::jpeg
