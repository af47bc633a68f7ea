#include "jpeg/progressive.hpp"

#include <algorithm>
#include <vector>

#include "jpeg/scan_coder.hpp"
#include "jpeg/symbols.hpp"

namespace halfbyte::jpeg {
namespace {

void put_16(Buffer& out, std::size_t value) {
  out.push_back(static_cast<std::uint8_t>(value >> 8));
  out.push_back(static_cast<std::uint8_t>(value));
}

void put_marker(Buffer& out, std::uint8_t marker) {
  out.push_back(0xFF);
  out.push_back(marker);
}

// Writes segments whose length is known at their end only.
class SegmentWriter {
 public:
  SegmentWriter(Buffer& out, std::uint8_t marker) : out_(out) {
    put_marker(out, marker);
    begin_ = out.size();
    put_16(out, 0);
  }
  void finish() {
    const std::size_t length = out_.size() - begin_;
    out_[begin_] = static_cast<std::uint8_t>(length >> 8);
    out_[begin_ + 1] = static_cast<std::uint8_t>(length);
  }

 private:
  Buffer& out_;
  std::size_t begin_;
};

class Writer {
 public:
  Writer(const Coefficients& image, ColorModel model) : planes_(image.planes()), image_(image) {
    // Colour differences have statistics of their own.
    if (model == ColorModel::ycc || model == ColorModel::ycck) roles_ = {0, 1, 1, 0};
  }

  Result<Buffer> run(std::span<const ScanSpec> scans, Bytes application);

 private:
  Status prepare(std::span<const ScanSpec> scans);
  void headers(Bytes application);
  void quantization_tables();
  void frame_header();
  Status scan(const ScanSpec& spec);
  void huffman_tables(const ScanSpec& spec);
  void scan_header(const ScanSpec& spec);

  const std::vector<Plane>& planes_;
  const Coefficients& image_;
  std::array<std::uint8_t, 4> roles_{};  // also the number of a component's Huffman tables
  std::array<std::uint8_t, 4> slots_{};  // of quantization tables
  std::vector<Significance> significance_;
  ScanImage shared_;
  SymbolList symbols_;
  Codewords words_{};
  Buffer out_;
};

Result<Buffer> Writer::run(std::span<const ScanSpec> scans, Bytes application) {
  if (Status status = prepare(scans); !status.ok()) return status;
  headers(application);
  for (const ScanSpec& spec : scans) {
    if (Status status = scan(spec); !status.ok()) return status;
  }
  return std::move(out_);
}

Status too_large() {
  return Status::failure(Code::unsupported_image,
                         "coefficients out of range: larger than JPEG allows for 8-bit samples");
}

Status Writer::prepare(std::span<const ScanSpec> scans) {
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    std::uint32_t significant = 0, refined = 0;
    for (const ScanSpec& spec : scans) {
      if (spec.ss == 0 || spec.components[0] != i) continue;
      significant |= 1U << spec.al;  // what a refinement knows before was significant in an earlier scan
      if (spec.ah != 0) refined |= 1U << spec.al;
    }
    significance_.emplace_back(planes_[i], significant, refined);
    if (significance_.back().out_of_range()) return too_large();
  }
  std::uint32_t max_h = 1, max_v = 1;
  for (const Plane& plane : planes_) {
    max_h = std::max<std::uint32_t>(max_h, plane.h);
    max_v = std::max<std::uint32_t>(max_v, plane.v);
  }
  shared_ = {planes_, significance_, (image_.width() + 8 * max_h - 1) / (8 * max_h),
             (image_.height() + 8 * max_v - 1) / (8 * max_v), roles_};
  return {};
}

void Writer::headers(Bytes application) {
  put_marker(out_, kSoi);
  out_.insert(out_.end(), application.begin(), application.end());
  quantization_tables();
  frame_header();
}

// Equal tables share a slot, whatever they did in the source.
void Writer::quantization_tables() {
  SegmentWriter segment(out_, kDqt);
  std::uint8_t used = 0;
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    const auto& table = planes_[i].table;
    const auto same = [&](const Plane& other) { return other.table == table; };
    const auto found = std::find_if(planes_.begin(), planes_.end(), same);
    const auto first = static_cast<std::size_t>(found - planes_.begin());
    if (first < i) {
      slots_[i] = slots_[first];
      continue;
    }
    slots_[i] = used++;
    const bool wide = *std::max_element(table.begin(), table.end()) > 255;
    out_.push_back(static_cast<std::uint8_t>((wide ? 0x10 : 0) | slots_[i]));
    for (const std::uint8_t k : kNaturalOrder) {
      if (wide) out_.push_back(static_cast<std::uint8_t>(table[k] >> 8));
      out_.push_back(static_cast<std::uint8_t>(table[k]));
    }
  }
  segment.finish();
}

void Writer::frame_header() {
  SegmentWriter segment(out_, kSof2);
  out_.push_back(8);
  put_16(out_, image_.height());
  put_16(out_, image_.width());
  out_.push_back(static_cast<std::uint8_t>(planes_.size()));
  for (std::size_t i = 0; i < planes_.size(); ++i) {
    out_.push_back(planes_[i].id);
    out_.push_back(static_cast<std::uint8_t>(planes_[i].h << 4 | planes_[i].v));
    out_.push_back(slots_[i]);
  }
  segment.finish();
}

Status Writer::scan(const ScanSpec& spec) {
  symbols_.clear();
  ScanCoder<SymbolList> counting(shared_, spec, symbols_);
  counting.run();
  if (counting.out_of_range()) return too_large();
  if (spec.ss > 0 || spec.ah == 0) huffman_tables(spec);
  scan_header(spec);
  SymbolWriter writer(out_, words_, symbols_.size_in_bits(words_));
  if (symbols_.complete()) {
    symbols_.replay(writer);
  } else {
    ScanCoder<SymbolWriter>(shared_, spec, writer).run();
  }
  writer.finish();
  return {};
}

void Writer::huffman_tables(const ScanSpec& spec) {
  SegmentWriter segment(out_, kDht);
  for (std::uint32_t table = 0; table < kTables; ++table) {
    const std::span<const std::uint32_t, 256> counts(&symbols_.counts()[std::size_t{table} * 256], 256);
    const HuffmanCode code = optimal_code(counts);
    if (code.num_symbols == 0) continue;
    assign_codewords(code, std::span<Codeword, 256>(&words_[std::size_t{table} * 256], 256));
    out_.push_back(static_cast<std::uint8_t>(spec.ss == 0 ? table : 0x10U | roles_[spec.components[0]]));
    out_.insert(out_.end(), code.counts.begin() + 1, code.counts.end());
    out_.insert(out_.end(), code.symbols.begin(), code.symbols.begin() + code.num_symbols);
  }
  segment.finish();
}

void Writer::scan_header(const ScanSpec& spec) {
  SegmentWriter segment(out_, kSos);
  out_.push_back(spec.count);
  for (std::size_t i = 0; i < spec.count; ++i) {
    const std::uint8_t component = spec.components[i];
    const std::uint8_t table = roles_[component];
    out_.push_back(planes_[component].id);
    // T.81, B.2.3: a table that the scan does not use is named 0.
    const std::uint8_t dc = spec.ss == 0 && spec.ah == 0 ? table : 0;
    out_.push_back(static_cast<std::uint8_t>(dc << 4 | (spec.ss == 0 ? 0 : table)));
  }
  out_.push_back(spec.ss);
  out_.push_back(spec.se);
  out_.push_back(static_cast<std::uint8_t>(spec.ah << 4 | spec.al));
  segment.finish();
}

}  // namespace

Result<Buffer> write_progressive(const Coefficients& image, ColorModel model, std::span<const ScanSpec> scans,
                                 Bytes application) {
  return Writer(image, model).run(scans, application);
}

}  // namespace halfbyte::jpeg
