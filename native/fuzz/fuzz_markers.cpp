// Any bytes: the walk ends, and what it reports lies within them.
#include "fuzz/fuzz.hpp"
#include "jpeg/markers.hpp"

using namespace halfbyte;
using fuzz::require;

namespace {

void check(Bytes data, const jpeg::JpegInfo& info) {
  require(info.end_of_image + info.trailing == data.size(), "the image and what follows are the file");
  std::uint64_t at = 0;
  for (const jpeg::Scan& scan : info.scans) {
    require(scan.begin == at && scan.end > scan.begin, "scans tile the file");
    at = scan.end;
  }
  require(at + 2 <= info.end_of_image, "the end-of-image marker follows the last scan");
  for (const jpeg::Segment& segment : info.metadata) {
    require(segment.begin + 4 <= segment.end && segment.end <= info.end_of_image, "segments lie in the image");
  }
  require(info.orientation >= 1 && info.orientation <= 8, "orientation is 1 to 8");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(data, size);
  const auto whole = jpeg::inspect(bytes, Limits{});
  if (whole.ok()) check(bytes, whole.value());
  const Status& status = whole.status();
  if (status.code == Code::need_more_bytes) {
    require(status.have == size && status.need > size, "more bytes are needed than there are");
  }
  // No prefix of what is sound or unfinished may look damaged.
  if (size > 0 && (whole.ok() || status.code == Code::need_more_bytes)) {
    const auto prefix = jpeg::inspect(bytes.first(size / 2), Limits{});
    require(prefix.ok() || prefix.status().code == Code::need_more_bytes, "a prefix is a prefix");
  }
  return 0;
}
