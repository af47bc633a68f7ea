#include "jpeg/decode.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "image/color.hpp"
#include "jpeg/later_scans.hpp"
#include "jpeg/libjpeg.hpp"
#include "jpeg/scan_reader.hpp"

namespace halfbyte::jpeg {
namespace {

using image::Range;
using image::Resampler;

constexpr int kFullScale = 8;  // of the eighths that libjpeg counts in

// Fancy upsampling of chroma looks at neighbours; at the edge of a crop it has none. This many more pixels on each side
// give every needed pixel its own.
constexpr int kMargin = 2;

// Everything that bodies under `guarded` see. It has no destructor: longjmp may skip what they hold.
struct Machine {
  jpeg_decompress_struct info;
  ErrorManager errors;
  SliceSource source;
  ScanLimit scan_limit;
  const Sample* sample;
  const DecodeOptions* options;
  std::span<const Bytes> slices;  // what libjpeg reads itself
  bool all_at_once;               // it takes in all of it before any pixel, so that coefficients can be added
  jvirt_barray_ptr* coefficients;
  Resampler* resampler;
  std::uint8_t* spare_row;      // of any colours
  int scale;                    // eighths
  J_COLOR_SPACE colours;        // what libjpeg delivers
  int channels;                 // what the resampler gets
  int begin, width;             // the columns that libjpeg delivers
  bool exact;                   // it may leave out rows and columns
};

class Owner {
 public:
  Owner(const Sample& sample, const DecodeOptions& options, const LaterScans* later) : machine_{} {
    machine_.info.err = install(machine_.errors);
    machine_.sample = &sample;
    machine_.options = &options;
    machine_.slices = later == nullptr ? sample.slices : std::span<const Bytes>(later->head);
    machine_.all_at_once = later != nullptr;
  }
  ~Owner() { jpeg_destroy_decompress(&machine_.info); }
  Owner(const Owner&) = delete;
  Owner& operator=(const Owner&) = delete;

  Machine& machine() { return machine_; }

 private:
  Machine machine_;
};

void read_header(Machine& m) {
  jpeg_create_decompress(&m.info);
  attach(&m.info, m.source, m.slices);
  jpeg_read_header(&m.info, TRUE);
  const auto common = reinterpret_cast<j_common_ptr>(&m.info);
  if (m.info.image_width != m.sample->width || m.info.image_height != m.sample->height) {
    char message[JMSG_LENGTH_MAX];
    std::snprintf(message, sizeof message, "the header says %u x %u, the sample table %u x %u", m.info.image_width,
                  m.info.image_height, m.sample->width, m.sample->height);
    fail(common, Code::corrupt_image, message);
  }
  check_limits(&m.info, m.options->limits);
  attach(&m.info, m.scan_limit, m.options->limits.max_scans);
}

// Grey is the Y plane where there is one. Four channels become RGB, then grey, row by row.
bool plan_colours(Machine& m) {
  const bool gray = m.sample->request.out.channels == 1;
  switch (m.info.jpeg_color_space) {
    case JCS_GRAYSCALE: m.colours = JCS_GRAYSCALE; break;
    case JCS_YCbCr: m.colours = gray ? JCS_GRAYSCALE : JCS_RGB; break;
    case JCS_RGB: m.colours = JCS_RGB; break;
    case JCS_CMYK:
    case JCS_YCCK: m.colours = JCS_CMYK; break;
    default: return false;
  }
  m.channels = gray || m.colours == JCS_GRAYSCALE ? 1 : 3;
  return true;
}

int scale_for(const Machine& m) {
  if (holds_only_dc(m.sample->slices)) return 1;
  const double ratio = m.options->min_scale_ratio;
  if (ratio == 0 || std::isinf(ratio)) return kFullScale;
  const image::Request& request = m.sample->request;
  const double have = std::min(request.box.width / request.out.columns, request.box.height / request.out.rows);
  for (const int scale : {1, 2, 4}) {
    if (have * scale / kFullScale >= ratio) return scale;
  }
  return kFullScale;
}

int scaled(std::uint32_t pixels, int scale) {
  return static_cast<int>((std::uint64_t{pixels} * static_cast<unsigned>(scale) + kFullScale - 1) / kFullScale);
}

// Whether libjpeg delivers parts of rows just as it does whole ones. Not where chroma is both scaled by its DCT and
// upsampled: libjpeg-turbo 2.1 is off by pixels there.
bool crops_exactly(const Machine& m) {
  if (m.scale == kFullScale) return true;
  return std::all_of(m.info.comp_info, m.info.comp_info + m.info.num_components, [&](const auto& component) {
    return component.downsampled_width == m.info.output_width && component.downsampled_height == m.info.output_height;
  });
}

// Pixels [range - margin, range + margin) within [0, size).
Range widened(Range range, int size) {
  return {std::max(range.begin - kMargin, 0), std::min(range.end + kMargin, size)};
}

void start(Machine& m) {
  m.info.scale_num = static_cast<unsigned>(m.scale);
  m.info.scale_denom = kFullScale;
  m.info.out_color_space = m.colours;
  m.info.dct_method = JDCT_ISLOW;
  m.info.do_fancy_upsampling = TRUE;
  m.info.do_block_smoothing = FALSE;
  m.info.buffered_image = m.all_at_once ? TRUE : FALSE;
  jpeg_start_decompress(&m.info);  // takes in all scans when there are several
  if (m.all_at_once) {
    while (jpeg_consume_input(&m.info) != JPEG_REACHED_EOI) {
    }
    m.coefficients = jpeg_read_coefficients(&m.info);
  }
  if (m.info.output_width != static_cast<JDIMENSION>(scaled(m.info.image_width, m.scale)) ||
      m.info.output_height != static_cast<JDIMENSION>(scaled(m.info.image_height, m.scale))) {
    fail(reinterpret_cast<j_common_ptr>(&m.info), Code::unsupported_image, "this libjpeg scales in another way");
  }
}

// Adds the scans that libjpeg was not given. False for damage.
bool add(const LaterScans& later, Machine& m) {
  std::vector<ScanPlane> planes(static_cast<std::size_t>(m.info.num_components));
  for (int i = 0; i < m.info.num_components; ++i) {
    const jpeg_component_info& component = m.info.comp_info[i];
    ScanPlane& plane = planes[static_cast<std::size_t>(i)];
    plane.columns = component.width_in_blocks;
    plane.rows = component.height_in_blocks;
    plane.h = static_cast<std::uint32_t>(component.h_samp_factor);
    plane.v = static_cast<std::uint32_t>(component.v_samp_factor);
    plane.block_rows.resize((plane.rows + plane.v - 1) / plane.v * plane.v);
    plane.known.assign(std::size_t{plane.columns} * plane.rows, 0);
    BlockRows rows{reinterpret_cast<j_common_ptr>(&m.info), m.coefficients[i], plane.block_rows};
    if (!guarded(m.errors, find_rows, rows)) return false;
  }
  return read_scans(later, planes);
}

void open_output(Machine& m) {
  if (m.all_at_once) jpeg_start_output(&m.info, m.info.input_scan_number);
  const auto all = static_cast<int>(m.info.output_width);
  m.exact = crops_exactly(m);
  const Range columns = m.exact ? widened(m.resampler->columns(), all) : Range{0, all};
  auto begin = static_cast<JDIMENSION>(columns.begin);
  auto width = static_cast<JDIMENSION>(columns.size());
  jpeg_crop_scanline(&m.info, &begin, &width);
  m.begin = static_cast<int>(begin);
  m.width = static_cast<int>(width);
}

void read_row(Machine& m, JSAMPROW row) { jpeg_read_scanlines(&m.info, &row, 1); }

void read_rows(Machine& m) {
  const Range rows = m.resampler->rows();
  if (m.exact && rows.begin > 0) jpeg_skip_scanlines(&m.info, static_cast<JDIMENSION>(rows.begin));
  while (m.info.output_scanline < static_cast<JDIMENSION>(rows.begin)) read_row(m, m.spare_row);
  for (int row = rows.begin; row < rows.end; ++row) {
    std::uint8_t* place = m.resampler->next_row();
    if (m.channels == m.info.output_components) {
      read_row(m, place);
    } else {
      read_row(m, m.spare_row);
      if (m.colours == JCS_CMYK) image::cmyk_to_rgb(m.spare_row, m.width);
      if (m.channels == 1) image::rgb_to_gray(m.spare_row, m.width);
      std::copy_n(m.spare_row, m.width * m.channels, place);
    }
    m.resampler->commit();
  }
}

// With `later`, libjpeg reads what comes before those scans, and makes pixels of all.
Status decode(const Sample& sample, const DecodeOptions& options, const LaterScans* later) {
  static thread_local Resampler resampler;
  Owner owner(sample, options, later);
  Machine& m = owner.machine();
  if (!guarded(m.errors, read_header, m)) return failure_of(m.errors);
  if (!plan_colours(m)) {
    return Status::failure(Code::unsupported_image,
                           std::to_string(m.info.num_components) + " components of an unknown colour model");
  }
  m.scale = scale_for(m);
  m.resampler = &resampler;
  resampler.plan(sample.request, scaled(sample.width, m.scale), scaled(sample.height, m.scale),
                 static_cast<double>(kFullScale) / m.scale);
  if (!guarded(m.errors, start, m)) return failure_of(m.errors);
  if (later != nullptr && !add(*later, m)) return Status::failure(Code::corrupt_image, "damaged scan");
  if (!guarded(m.errors, open_output, m)) return failure_of(m.errors);
  resampler.allocate(m.begin, m.width, m.channels);
  Buffer spare_row(static_cast<std::size_t>(m.width) * static_cast<std::size_t>(m.info.output_components));
  m.spare_row = spare_row.data();
  const bool complete = guarded(m.errors, read_rows, m);
  resampler.trim();
  if (!complete) return failure_of(m.errors);
  return warnings_of(m.errors);
}

}  // namespace

Status decode(const Sample& sample, const DecodeOptions& options) {
  if (const auto later = later_scans(sample.slices, options.limits)) {
    Status status = decode(sample, options, &*later);
    if (status.ok()) return status;
  }
  return decode(sample, options, nullptr);  // all by libjpeg, which has the words for what is wrong
}

}  // namespace halfbyte::jpeg
