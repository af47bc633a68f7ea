#include "jpeg/libjpeg.hpp"

#include <algorithm>
#include <cstring>
#include <new>

#include <jerror.h>

namespace halfbyte::jpeg {
namespace {

constexpr std::uint8_t kEndOfImage[2] = {0xFF, 0xD9};

Code code_of(int libjpeg_code) {
  switch (libjpeg_code) {
    case JERR_OUT_OF_MEMORY: return Code::out_of_memory;
    case JERR_ARITH_NOTIMPL:
    case JERR_BAD_PRECISION:
    case JERR_CONVERSION_NOTIMPL:
    case JERR_FRACT_SAMPLE_NOTIMPL:
    case JERR_NOTIMPL:
    case JERR_NOT_COMPILED:
    case JERR_SOF_UNSUPPORTED: return Code::unsupported_image;
    default: return Code::corrupt_image;
  }
}

[[noreturn]] void on_error(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  manager->base.format_message(info, manager->message);
  manager->code = code_of(info->err->msg_code);
  std::longjmp(manager->jump, 1);
}

void on_message(j_common_ptr info, int level) {
  if (level >= 0) return;  // traces
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  if (manager->base.num_warnings++ == 0) manager->base.format_message(info, manager->first_warning);
}

void ignore_output(j_common_ptr) {}

void start_source(j_decompress_ptr) {}
void end_source(j_decompress_ptr) {}

boolean next_slice(j_decompress_ptr info) {
  auto* source = reinterpret_cast<SliceSource*>(info->src);
  while (source->next < source->slices.size()) {
    const Bytes slice = source->slices[source->next++];
    if (slice.empty()) continue;
    source->base.next_input_byte = slice.data();
    source->base.bytes_in_buffer = slice.size();
    return TRUE;
  }
  // A second request for the marker means that the entropy coder wants data: the slices were cut inside a scan.
  if (source->ended) fail(reinterpret_cast<j_common_ptr>(info), Code::corrupt_image, "the JPEG data ends too early");
  source->ended = true;
  source->base.next_input_byte = kEndOfImage;
  source->base.bytes_in_buffer = sizeof kEndOfImage;
  return TRUE;
}

void skip_input(j_decompress_ptr info, long count) {
  auto* source = reinterpret_cast<SliceSource*>(info->src);
  while (count > 0) {
    if (source->base.bytes_in_buffer == 0) next_slice(info);
    const auto step = std::min(static_cast<std::size_t>(count), source->base.bytes_in_buffer);
    source->base.next_input_byte += step;
    source->base.bytes_in_buffer -= step;
    count -= static_cast<long>(step);
  }
}

constexpr std::size_t kFirstChunk = 16 * 1024;

// Makes room for at least one more chunk after `used` bytes; never throws.
bool grow(BufferSink& sink, std::size_t used) {
  try {
    sink.buffer->resize(std::max(kFirstChunk, used * 2));
  } catch (const std::bad_alloc&) {
    return false;
  }
  sink.base.next_output_byte = sink.buffer->data() + used;
  sink.base.free_in_buffer = sink.buffer->size() - used;
  return true;
}

void start_sink(j_compress_ptr info) {
  auto& sink = *reinterpret_cast<BufferSink*>(info->dest);
  if (!grow(sink, 0)) fail(reinterpret_cast<j_common_ptr>(info), Code::out_of_memory, "no memory for the output");
}

boolean full_sink(j_compress_ptr info) {
  auto& sink = *reinterpret_cast<BufferSink*>(info->dest);
  // libjpeg hands over a full buffer whatever free_in_buffer says (libjpeg.txt, "Compressed data handling").
  if (!grow(sink, sink.buffer->size())) {
    fail(reinterpret_cast<j_common_ptr>(info), Code::out_of_memory, "no memory for the output");
  }
  return TRUE;
}

void end_sink(j_compress_ptr info) {
  auto& sink = *reinterpret_cast<BufferSink*>(info->dest);
  sink.buffer->resize(sink.buffer->size() - sink.base.free_in_buffer);
}

void count_scans(j_common_ptr info) {
  auto* limit = reinterpret_cast<ScanLimit*>(info->progress);
  const auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
  if (decompress->input_scan_number > static_cast<int>(limit->max_scans)) {
    char message[JMSG_LENGTH_MAX];
    std::snprintf(message, sizeof message, "more than %u scans (limit max_scans)", limit->max_scans);
    fail(info, Code::limit_exceeded, message);
  }
}

}  // namespace

#define HALFBYTE_TEXT_OF(token) #token
#define HALFBYTE_TEXT(macro) HALFBYTE_TEXT_OF(macro)
const char* version() { return "libjpeg-turbo " HALFBYTE_TEXT(LIBJPEG_TURBO_VERSION); }

jpeg_error_mgr* install(ErrorManager& manager) {
  std::memset(static_cast<void*>(&manager), 0, sizeof manager);
  jpeg_std_error(&manager.base);
  manager.base.error_exit = on_error;
  manager.base.emit_message = on_message;
  manager.base.output_message = ignore_output;
  return &manager.base;
}

void fail(j_common_ptr info, Code code, const char* message) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  std::snprintf(manager->message, sizeof manager->message, "%s", message);
  manager->code = code;
  std::longjmp(manager->jump, 1);
}

Status failure_of(const ErrorManager& manager) { return Status::failure(manager.code, manager.message); }

Status warnings_of(const ErrorManager& manager) {
  if (manager.base.num_warnings == 0) return {};
  return Status::failure(Code::corrupt_image, manager.first_warning);
}

void attach(j_decompress_ptr info, SliceSource& source, std::span<const Bytes> slices) {
  source.base.init_source = start_source;
  source.base.fill_input_buffer = next_slice;
  source.base.skip_input_data = skip_input;
  source.base.resync_to_restart = jpeg_resync_to_restart;
  source.base.term_source = end_source;
  source.base.bytes_in_buffer = 0;
  source.base.next_input_byte = nullptr;
  source.slices = slices;
  source.next = 0;
  source.ended = false;
  info->src = &source.base;
}

void attach(j_compress_ptr info, BufferSink& sink, Buffer& buffer) {
  sink.base.init_destination = start_sink;
  sink.base.empty_output_buffer = full_sink;
  sink.base.term_destination = end_sink;
  sink.buffer = &buffer;
  info->dest = &sink.base;
}

void check_limits(j_decompress_ptr info, const Limits& limits) {
  const auto common = reinterpret_cast<j_common_ptr>(info);
  char message[JMSG_LENGTH_MAX];
  const std::uint64_t pixels = std::uint64_t{info->image_width} * info->image_height;
  if (pixels > limits.max_pixels) {
    std::snprintf(message, sizeof message, "%u x %u pixels, over the limit of %llu (max_pixels)", info->image_width,
                  info->image_height, static_cast<unsigned long long>(limits.max_pixels));
    fail(common, Code::limit_exceeded, message);
  }
  if (info->num_components > static_cast<int>(limits.max_components)) {
    std::snprintf(message, sizeof message, "%d components, over the limit of %u (max_components)",
                  info->num_components, limits.max_components);
    fail(common, Code::limit_exceeded, message);
  }
  std::uint64_t bytes = 0;
  for (int i = 0; i < info->num_components; ++i) {
    const jpeg_component_info& component = info->comp_info[i];
    // libjpeg pads each plane to whole interleaved units: at most max_samp_factor - 1 blocks more a side.
    const std::uint64_t columns = component.width_in_blocks + static_cast<std::uint64_t>(component.h_samp_factor);
    const std::uint64_t rows = component.height_in_blocks + static_cast<std::uint64_t>(component.v_samp_factor);
    bytes += columns * rows * sizeof(JBLOCK);
  }
  if (bytes > limits.max_coefficient_bytes) {
    std::snprintf(message, sizeof message, "%llu bytes of coefficients, over the limit of %llu (max_coefficient_bytes)",
                  static_cast<unsigned long long>(bytes),
                  static_cast<unsigned long long>(limits.max_coefficient_bytes));
    fail(common, Code::limit_exceeded, message);
  }
}

void find_rows(BlockRows& wanted) {
  for (std::size_t row = 0; row < wanted.rows.size(); ++row) {
    wanted.rows[row] =
        wanted.info->mem->access_virt_barray(wanted.info, wanted.array, static_cast<JDIMENSION>(row), 1, TRUE)[0];
  }
}

void attach(j_decompress_ptr info, ScanLimit& limit, std::uint32_t max_scans) {
  std::memset(&limit, 0, sizeof limit);
  limit.base.progress_monitor = count_scans;
  limit.max_scans = max_scans;
  info->progress = &limit.base;
}

}  // namespace halfbyte::jpeg
