// Any bytes: refused with a reason, or levels of which every prefix is sound and that can be put back together.
#include "base/bytes.hpp"
#include "fuzz/fuzz.hpp"
#include "jpeg/markers.hpp"
#include "jpeg/split.hpp"
#include "jpeg/transcode.hpp"

using namespace halfbyte;
using fuzz::require;

namespace {

Buffer with_end(Bytes stream) {
  Buffer whole(stream.begin(), stream.end());
  whole.push_back(0xFF);
  whole.push_back(jpeg::kEoi);
  return whole;
}

void check(const jpeg::Transcoded& result) {
  std::size_t end = 0;
  for (const Bytes level : result.levels) {
    require(level.data() == result.stream.data() + end, "levels tile the stream");
    end += level.size();
    const Buffer prefix = with_end(Bytes(result.stream).first(end));
    require(jpeg::inspect(prefix, unlimited()).ok(), "every prefix of levels is a JPEG");
  }
  require(end == result.stream.size() && !result.levels.front().empty(), "levels are the stream");
  const auto restored = jpeg::restore_metadata(result.stream, result.metadata, result.trailing);
  require(restored.ok(), "metadata can be put back");
  const auto info = jpeg::inspect(restored.value(), unlimited());
  require(info.ok() && info.value().trailing == result.trailing.size(), "what is put back is a JPEG and its tail");
  require(info.value().orientation == result.orientation, "the orientation is kept");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const jpeg::ScanScript script = fuzz::standard_script();
  const auto result = jpeg::transcode(Bytes(data, size), script, fuzz::kLimits);
  if (result.ok()) check(result.value());
  const Code code = result.status().code;
  require(code != Code::need_more_bytes && code != Code::illegal_script, "a file is refused for what it is");
  require(result.ok() || !result.status().message.empty(), "every refusal has a reason");
  require(result.status().message.rfind("not equal", 0) != 0, "what libjpeg reads can be written without loss");
  return 0;
}
