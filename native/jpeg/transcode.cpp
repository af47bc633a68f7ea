#include "jpeg/transcode.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "jpeg/coefficients.hpp"
#include "jpeg/markers.hpp"
#include "jpeg/progressive.hpp"
#include "jpeg/proof.hpp"
#include "jpeg/split.hpp"

namespace halfbyte::jpeg {
namespace {

constexpr std::uint32_t kMaxSide = 65500;     // libjpeg's
constexpr int kMaxBlocksInUnit = 10;          // T.81, B.2.3
constexpr std::size_t kJfifSegment = 2 + 16;  // without a thumbnail
constexpr std::size_t kAdobeSegment = 2 + 14;

Status unsupported(std::string reason) { return Status::failure(Code::unsupported_image, std::move(reason)); }

bool is_progressive(const JpegInfo& info) { return info.sof == 2 || info.sof == 10; }

// A coefficient that no scan completes is zero to libjpeg, but decoders may smooth over it: the picture that people saw
// would not be the one that the result shows.
Status check_scans(const JpegInfo& info) {
  Progress progress(static_cast<int>(info.components.size()));
  std::array<int, 4> seen{};
  for (const Scan& scan : info.scans) {
    progress.note(scan.spec);
    for (std::size_t i = 0; i < scan.spec.count; ++i) ++seen[scan.spec.components[i]];
  }
  for (std::size_t i = 0; i < info.components.size(); ++i) {
    if (seen[i] == 0) return unsupported("incomplete scans: component " + std::to_string(i) + " has none");
    if (seen[i] > 1 && !is_progressive(info)) {
      return Status::failure(Code::corrupt_image, "damaged: component " + std::to_string(i) + " is coded twice");
    }
  }
  const auto missing = progress.incomplete();
  if (missing && is_progressive(info)) {
    return unsupported("incomplete scans: no scan completes coefficient " + std::to_string((*missing)[1]) +
                       " of component " + std::to_string((*missing)[0]));
  }
  return {};
}

Status check_kind(const JpegInfo& info) {
  if (info.sof == 3 || info.sof == 11) return unsupported("lossless JPEG");
  if (info.precision != 8) return unsupported(std::to_string(info.precision) + "-bit samples");
  const std::size_t components = info.components.size();
  if (components != 1 && components != 3 && components != 4) {
    return unsupported(std::to_string(components) + " components");
  }
  if (info.width > kMaxSide || info.height > kMaxSide) {
    return unsupported("a side over 65500 pixels: " + std::to_string(info.width) + " x " + std::to_string(info.height));
  }
  if (info.late_markers) {
    return unsupported("late markers: a JFIF, Adobe, EXIF or ICC segment stands after the frame header");
  }
  return check_scans(info);
}

// The markers that tell decoders the colours and density, as in the source but without a thumbnail.
Buffer application_markers(Bytes source, const JpegInfo& info) {
  Buffer out;
  if (info.jfif) {
    const Bytes segment = source.subspan(info.jfif->begin, kJfifSegment);
    out.assign(segment.begin(), segment.end());
    out[2] = 0;
    out[3] = kJfifSegment - 2;
    out[kJfifSegment - 2] = out[kJfifSegment - 1] = 0;  // no thumbnail
  }
  if (info.adobe) {
    const Bytes segment = source.subspan(info.adobe->begin, kAdobeSegment);
    const std::size_t begin = out.size();
    out.insert(out.end(), segment.begin(), segment.end());
    out[begin + 2] = 0;
    out[begin + 3] = kAdobeSegment - 2;
  }
  return out;
}

// The script's levels for this sampling: DC scans over too many blocks a unit become one scan a component.
Levels fit(const Levels& levels, const std::vector<Component>& components) {
  Levels fitted;
  for (const auto& level : levels) {
    auto& scans = fitted.emplace_back();
    for (const ScanSpec& spec : level) {
      int blocks = 0;
      for (std::size_t i = 0; i < spec.count; ++i) {
        blocks += components[spec.components[i]].h * components[spec.components[i]].v;
      }
      if (spec.count == 1 || blocks <= kMaxBlocksInUnit) {
        scans.push_back(spec);
        continue;
      }
      for (std::size_t i = 0; i < spec.count; ++i) {
        scans.push_back({{spec.components[i]}, 1, spec.ss, spec.se, spec.ah, spec.al});
      }
    }
  }
  return fitted;
}

Status prove(const Coefficients& original, const std::vector<Bytes>& levels) {
  Coefficients result;
  // The source was within its limits, and the number of scans is the script's.
  Status status = result.read(levels, unlimited());
  if (status.code == Code::corrupt_image) status.message = "not equal after transcoding: " + status.message;
  return status.ok() ? prove_equal(original, result) : status;
}

Status transcode_into(Transcoded& out, Bytes source, const ScanScript& script, const Limits& limits) {
  Result<JpegInfo> inspected = inspect(source, limits);
  if (inspected.status().code == Code::need_more_bytes) {
    return Status::failure(Code::corrupt_image, "damaged: the file ends early: " + inspected.status().message);
  }
  if (!inspected.ok()) return inspected.status();
  const JpegInfo& info = inspected.value();
  if (Status status = check_kind(info); !status.ok()) return status;

  Coefficients original;
  const Bytes image = source.first(info.end_of_image);
  if (Status status = original.read({&image, 1}, limits); !status.ok()) return status;
  const auto model = original.model();
  const Levels* asked = model ? script.levels(*model) : nullptr;
  if (asked == nullptr) return unsupported("no scans for its colours: the scan script lacks this colour model");

  const Levels levels = fit(*asked, info.components);
  std::vector<ScanSpec> scans;
  for (const auto& level : levels) scans.insert(scans.end(), level.begin(), level.end());
  const Buffer application = application_markers(source, info);
  Result<Buffer> written = write_progressive(original, *model, scans, application);
  if (!written.ok()) return written.status();
  out.stream = std::move(written.value());
  Result<std::vector<Bytes>> slices = split(out.stream, levels);
  if (!slices.ok()) return slices.status();
  out.levels = std::move(slices.value());
  if (Status status = prove(original, out.levels); !status.ok()) return status;

  out.width = info.width;
  out.height = info.height;
  out.orientation = info.orientation;
  out.metadata = metadata_of(source, info);
  if (out.metadata == application) out.metadata.clear();
  out.trailing = source.subspan(info.end_of_image);
  return {};
}

}  // namespace

Result<Transcoded> transcode(Bytes source, const ScanScript& script, const Limits& limits) {
  try {
    Transcoded out;
    Status status = transcode_into(out, source, script, limits);
    if (!status.ok()) return status;
    return out;
  } catch (const std::bad_alloc&) {
    return Status::failure(Code::out_of_memory, "no memory to transcode the image");
  }
}

}  // namespace halfbyte::jpeg
