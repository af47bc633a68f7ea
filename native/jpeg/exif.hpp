// The one EXIF field that changes how a picture is shown.
#pragma once

#include <cstdint>

#include "base/bytes.hpp"

namespace halfbyte::jpeg {

// The orientation (1..8) in the TIFF structure that follows "Exif\0\0"; 1 where it is missing, damaged or senseless.
std::uint8_t exif_orientation(Bytes tiff);

}  // namespace halfbyte::jpeg
