// Cutting a progressive JPEG into levels, and putting back what was taken off it.
#pragma once

#include <span>
#include <vector>

#include "base/bytes.hpp"
#include "base/status.hpp"
#include "jpeg/markers.hpp"
#include "jpeg/scan_script.hpp"

namespace halfbyte::jpeg {

// One slice a level, in order: the scans of that level with the tables in front of them; empty for a level without
// scans. Together they are the stream. corrupt_image: it does not consist of exactly the scans of these levels.
Result<std::vector<Bytes>> split(Bytes stream, const Levels& levels);

// The APPn and COM segments of a file, one after the other.
Buffer metadata_of(Bytes file, const JpegInfo& info);

// A JPEG with another's metadata: its own APPn and COM segments are replaced by those in `metadata` (kept where that is
// empty), and `trailing` follows the end-of-image marker, which `jpeg` may lack. The image is only walked.
Result<Buffer> restore_metadata(Bytes jpeg, Bytes metadata, Bytes trailing);

}  // namespace halfbyte::jpeg
