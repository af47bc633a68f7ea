// The parts of the module, one a file.
#pragma once

#include <nanobind/nanobind.h>

namespace halfbyte::bind {

void add_jpeg_types(nanobind::module_& module);  // Limits, JpegInfo, ScanScript
void add_jpeg(nanobind::module_& module);        // these and inspect_jpeg, transcode, restore_metadata
void add_decode(nanobind::module_& module);      // Pool, decode, resample, ms_ssim

}  // namespace halfbyte::bind
