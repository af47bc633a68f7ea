#include "jpeg/coefficients.hpp"

#include <algorithm>
#include <string>

#include <jerror.h>

namespace halfbyte::jpeg {
namespace {

struct Reading {
  jpeg_decompress_struct* info;
  SliceSource* source;
  std::span<const Bytes> slices;
  ScanLimit* scans;
  const Limits* limits;
  jvirt_barray_ptr* arrays;
};

void read_all(Reading& reading) {
  jpeg_create_decompress(reading.info);
  attach(reading.info, *reading.source, reading.slices);
  attach(reading.info, *reading.scans, reading.limits->max_scans);
  jpeg_read_header(reading.info, TRUE);
  check_limits(reading.info, *reading.limits);
  reading.arrays = jpeg_read_coefficients(reading.info);
}

Status damaged(Status status, int message_code) {
  if (message_code == JERR_ARITH_NOTIMPL) {
    return Status::failure(Code::unsupported_image, "arithmetic coding: this build of libjpeg cannot read it");
  }
  if (status.code == Code::corrupt_image) status.message = "damaged: " + status.message;
  return status;
}

}  // namespace

Coefficients::Coefficients() { info_.err = install(errors_); }

Coefficients::~Coefficients() { jpeg_destroy_decompress(&info_); }

Status Coefficients::read(std::span<const Bytes> slices, const Limits& limits) {
  Reading reading{&info_, &source_, slices, &scans_, &limits, nullptr};
  if (!guarded(errors_, read_all, reading)) return damaged(failure_of(errors_), errors_.base.msg_code);
  if (Status status = warnings_of(errors_); !status.ok()) return damaged(status, 0);
  return collect(reading.arrays);
}

Status Coefficients::collect(jvirt_barray_ptr* arrays) {
  for (int i = 0; i < info_.num_components; ++i) {
    const jpeg_component_info& component = info_.comp_info[i];
    if (component.quant_table == nullptr) {
      return Status::failure(Code::corrupt_image, "damaged: component " + std::to_string(i) + " has no scan");
    }
    Plane& plane = planes_.emplace_back();
    plane.id = static_cast<std::uint8_t>(component.component_id);
    plane.h = static_cast<std::uint8_t>(component.h_samp_factor);
    plane.v = static_cast<std::uint8_t>(component.v_samp_factor);
    plane.columns = component.width_in_blocks;
    plane.rows = component.height_in_blocks;
    std::copy_n(component.quant_table->quantval, 64, plane.table.begin());
    std::vector<JBLOCKROW> found(plane.rows);
    BlockRows rows{reinterpret_cast<j_common_ptr>(&info_), arrays[i], found};
    if (!guarded(errors_, find_rows, rows)) return damaged(failure_of(errors_), errors_.base.msg_code);
    plane.block_rows.assign(found.begin(), found.end());
  }
  return {};
}

std::optional<ColorModel> Coefficients::model() const {
  switch (info_.jpeg_color_space) {
    case JCS_GRAYSCALE: return ColorModel::gray;
    case JCS_YCbCr: return ColorModel::ycc;
    case JCS_RGB: return ColorModel::rgb;
    case JCS_CMYK: return ColorModel::cmyk;
    case JCS_YCCK: return ColorModel::ycck;
    default: return std::nullopt;
  }
}

}  // namespace halfbyte::jpeg
