#include "image/resample.hpp"

#include <algorithm>

#include "image/color.hpp"
#include "image/filter.hpp"

namespace halfbyte::image {
namespace {

// The kernels move four bytes at a time.
constexpr std::size_t kPadding = 16;
constexpr std::size_t kKeptBytes = std::size_t{8} << 20;

std::size_t bytes(int pixels, int channels) {
  return static_cast<std::size_t>(pixels) * static_cast<std::size_t>(channels);
}

// Grows only: what the vector holds is overwritten before it is read.
void reserve(std::vector<std::uint8_t>& buffer, std::size_t size) {
  if (buffer.size() < size) buffer.resize(size);
}

// Rows that must be kept at once: an output row waits for those before it.
int rows_in_flight(const Axis& axis) {
  int end = 0;
  int most = 1;
  for (int i = 0; i < axis.output(); ++i) {
    const auto at = static_cast<std::size_t>(i);
    end = std::max(end, axis.first[at] + axis.count[at]);
    most = std::max(most, end - axis.first[at]);
  }
  return most;
}

}  // namespace

void Resampler::plan(const Request& request, int width, int height, double scale) {
  const Orientation turn = orientation_of(request.exif);
  const Box& box = request.box;
  const AxisSpec across{.size = turn.transposed ? height : width,
                        .begin = box.x / scale,
                        .length = box.width / scale,
                        .output = request.out.columns,
                        .clip = request.clip,
                        .reversed = turn.transposed ? turn.rows_reversed : turn.columns_reversed};
  const AxisSpec down{.size = turn.transposed ? width : height,
                      .begin = box.y / scale,
                      .length = box.height / scale,
                      .output = request.out.rows,
                      .clip = request.clip,
                      .reversed = turn.transposed ? turn.columns_reversed : turn.rows_reversed};
  horizontal_.fill(turn.transposed ? down : across);
  vertical_.fill(turn.transposed ? across : down);
  out_ = stored_view(request.out, turn, request.mirrored);
  if (out_.column_stride < 0) {  // writing forwards is faster
    reverse_columns(out_);
    horizontal_.mirror();
  }
  raw_ring_ = turn.transposed || horizontal_.copies;
}

void Resampler::allocate(int begin, int width, int channels) {
  channels_ = channels;
  skip_ = static_cast<std::ptrdiff_t>(bytes(columns().begin - begin, channels));
  row_ = rows().begin;
  output_ = 0;
  ring_rows_ = rows_in_flight(vertical_);
  ring_stride_ = bytes(raw_ring_ ? width : out_.columns, channels) + kPadding;
  reserve(ring_, ring_stride_ * static_cast<std::size_t>(ring_rows_));
  reserve(source_row_, bytes(width, channels) + kPadding);
  reserve(filtered_, bytes(raw_ring_ ? columns().size() : out_.columns, channels) + kPadding);
  reserve(line_, bytes(out_.columns, channels) + kPadding);
  taps_.resize(static_cast<std::size_t>(ring_rows_));
}

std::uint8_t* Resampler::ring_row(int row) noexcept {
  return ring_.data() + static_cast<std::size_t>(row % ring_rows_) * ring_stride_;
}

std::uint8_t* Resampler::next_row() noexcept { return raw_ring_ ? ring_row(row_) : source_row_.data(); }

void Resampler::commit() noexcept {
  if (!raw_ring_) filter_row(horizontal_, source_row_.data() + skip_, channels_, ring_row(row_));
  ++row_;
  // An output row is due when the last source row that it needs is there.
  for (; output_ < out_.rows; ++output_) {
    const auto at = static_cast<std::size_t>(output_);
    if (vertical_.first[at] + vertical_.count[at] > row_) return;
    emit(output_);
  }
}

void Resampler::emit(int output) noexcept {
  const auto at = static_cast<std::size_t>(output);
  const std::ptrdiff_t skip = raw_ring_ ? skip_ : 0;
  const int count = vertical_.count[at];
  for (int i = 0; i < count; ++i) taps_[static_cast<std::size_t>(i)] = ring_row(vertical_.first[at] + i) + skip;
  const std::uint8_t* row = taps_[0];
  if (count > 1) {
    const std::size_t size = bytes(raw_ring_ ? columns().size() : out_.columns, channels_);
    blend_rows(taps_.data(), vertical_.weights_of(output), count, size, filtered_.data());
    row = filtered_.data();
  }
  if (raw_ring_ && !horizontal_.copies) {
    filter_row(horizontal_, row, channels_, line_.data());
    row = line_.data();
  }
  write_row(out_, output, row, channels_);
}

void Resampler::trim() noexcept {
  const std::size_t weights = horizontal_.weights.size() + vertical_.weights.size();
  if (ring_.size() + weights * sizeof(std::int32_t) > kKeptBytes) *this = Resampler();
}

void resample(const Pixels& pixels, const Request& request) {
  static thread_local Resampler resampler;
  resampler.plan(request, pixels.width, pixels.height, 1);
  const Range columns = resampler.columns();
  const int channels = request.out.channels == 1 ? 1 : pixels.channels;
  resampler.allocate(columns.begin, columns.size(), channels);
  const std::size_t size = bytes(columns.size(), pixels.channels);
  std::vector<std::uint8_t> colours(channels != pixels.channels ? size : 0);
  for (int y = resampler.rows().begin; y < resampler.rows().end; ++y) {
    const std::uint8_t* row = pixels.row(y) + bytes(columns.begin, pixels.channels);
    std::uint8_t* place = resampler.next_row();
    if (colours.empty()) {
      std::copy_n(row, size, place);
    } else {
      std::copy_n(row, size, colours.data());
      rgb_to_gray(colours.data(), columns.size());
      std::copy_n(colours.data(), columns.size(), place);
    }
    resampler.commit();
  }
  resampler.trim();
}

}  // namespace halfbyte::image
