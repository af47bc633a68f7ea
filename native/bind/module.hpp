// The parts of the module, one a file.
#pragma once

#include <nanobind/nanobind.h>

namespace halfbyte::bind {

void add_jpeg_types(nanobind::module_& module);  // Limits, JpegInfo, ScanScript
void add_jpeg(nanobind::module_& module);        // these and inspect_jpeg, transcode, restore_metadata
void add_decode(nanobind::module_& module);      // Pool, decode, resample, ms_ssim

void add_tensor(nanobind::module_& module);           // instruction sets, threads, and all of these
void add_tensor_masks(nanobind::module_& module);     // one bit an element, zero-value coding, narrow indices
void add_tensor_sfpr(nanobind::module_& module);      // scaled fixed point
void add_tensor_jpeg_act(nanobind::module_& module);  // DCT, quantization, coders
void add_tensor_groups(nanobind::module_& module);    // group quantization
void add_tensor_error_bounded(nanobind::module_& module);  // dual quantization, Lorenzo prediction, coders
void add_tensor_code_blocks(nanobind::module_& module);    // integer codes of which most are 0

}  // namespace halfbyte::bind
