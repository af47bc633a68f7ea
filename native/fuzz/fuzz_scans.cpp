// Progressive scans with damage in them: refused, or read as libjpeg reads them. The input is made progressive where it
// can be, and its own last bytes say which bytes of the outcome to change.
#include "fuzz/fuzz.hpp"
#include "fuzz/scans_agree.hpp"
#include "jpeg/transcode.hpp"

using namespace halfbyte;

namespace {

constexpr std::size_t kBytesAChange = 4;  // three of a place, and a value

Buffer progressive(Bytes data) {
  static const jpeg::ScanScript script = fuzz::standard_script();
  auto result = jpeg::transcode(data, script, fuzz::kLimits);
  return result.ok() ? std::move(result.value().stream) : Buffer(data.begin(), data.end());
}

void change(Buffer& stream, Bytes choices) {
  for (; choices.size() >= kBytesAChange && !stream.empty(); choices = choices.subspan(kBytesAChange)) {
    const std::size_t place = std::size_t{choices[0]} << 16 | std::size_t{choices[1]} << 8 | choices[2];
    stream[place % stream.size()] ^= choices[3];
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes input(data, size);
  const std::size_t choices = size == 0 ? 0 : std::min(size - 1, data[size - 1] % 4 * kBytesAChange);
  Buffer stream = progressive(input);
  change(stream, input.first(size - (size == 0 ? 0 : 1)).last(choices));
  const Bytes slice(stream);
  (void)fuzz::own_scans_agree({&slice, 1});
  return 0;
}
