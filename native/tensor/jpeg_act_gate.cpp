#include "tensor/jpeg_act_gate.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "tensor/jpeg_act_pieces.hpp"
#include "tensor/jpeg_act_rle.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::uint32_t kGoldenRatio = 0x9E3779B9;  // of 2^32: multiples of it lie evenly, and align with no dimension

// The tiles of a sample, copied to a small map of planes of one tile each.
class Sample {
 public:
  Sample(const void* x, Element element, const MapShape& shape)
      : shape_(shape),
        size_(size_of(element)),
        height_(std::min<std::size_t>(shape.height, 8)),
        width_(std::min<std::size_t>(shape.width, 8)),
        count_(std::min<std::size_t>(shape.tiles(), kGateTiles)),
        elements_(count_ * height_ * width_ * size_) {
    for (std::size_t i = 0; i < count_; ++i) take(static_cast<const std::uint8_t*>(x), i);
  }

  [[nodiscard]] MapShape shape() const { return {count_, height_, width_, 1, count_}; }
  [[nodiscard]] const std::uint8_t* elements() const { return elements_.data(); }
  [[nodiscard]] const std::vector<std::size_t>& channels() const { return channels_; }

  [[nodiscard]] std::size_t nonzeros() const {
    std::size_t found = 0;
    for (std::size_t i = 0; i < elements_.size(); i += size_) {
      std::uint8_t any = elements_[i + size_ - 1] & 0x7f;  // without the sign
      for (std::size_t j = 0; j + 1 < size_; ++j) any |= elements_[i + j];
      found += any != 0;
    }
    return found;
  }

 private:
  // Tiles count image by image, channel by channel, row by row, however they lie in memory; smaller ones do not.
  void take(const std::uint8_t* x, std::size_t i) {
    const std::size_t rows = shape_.height / height_, columns = shape_.width / width_;
    const std::size_t images = shape_.planes * shape_.inner / shape_.channels;
    const std::uint64_t fraction = static_cast<std::uint32_t>(kGoldenRatio * (i + 1));
    std::size_t tile = fraction * (images * shape_.channels * rows * columns) >> 32;
    const std::size_t column = tile % columns * width_, row = (tile /= columns) % rows * height_;
    const std::size_t channel = (tile /= rows) % shape_.channels, image = tile / shape_.channels;
    const bool planar = shape_.inner == 1;
    const std::size_t plane = planar ? image * shape_.channels + channel : image;
    channels_.push_back(channel);
    for (std::size_t y = 0; y < height_; ++y) {
      for (std::size_t j = 0; j < width_; ++j) {
        const std::size_t place = (plane * shape_.height + row + y) * shape_.width + column + j;
        std::memcpy(elements_.data() + ((i * height_ + y) * width_ + j) * size_,
                    x + (place * shape_.inner + (planar ? 0 : channel)) * size_, size_);
      }
    }
  }

  MapShape shape_;
  std::size_t size_, height_, width_, count_;
  std::vector<std::uint8_t> elements_;
  std::vector<std::size_t> channels_;
};

// Bytes of the sample, whose tiles have channels of their own.
std::size_t coded_bytes(const Sample& sample, Element element, const std::vector<float>& inverse,
                        const JpegActTables& tables, Coder coder) {
  const MapShape shape = sample.shape();
  const Piece piece = Pieces(shape)[0];  // the only one, of one grid
  std::vector<std::uint64_t> masks(shape.planes);
  std::vector<std::uint8_t> codes(64 * shape.planes + 64);
  const std::size_t num_codes = jpeg_act_plane_kernels().of[static_cast<int>(element)].encode(
      sample.elements(), shape.count(), piece.grids[0], inverse.data(), tables, masks.data(), codes.data());
  if (coder == Coder::zvc) return num_codes;
  const auto count = static_cast<std::int64_t>(num_codes);
  std::array<std::uint8_t, 256> lengths;
  std::int64_t byte_count;
  return jpeg_act_rle_measure(shape, {masks.data(), &count, codes.data()}, lengths, &byte_count, 1);
}

}  // namespace

JpegActEstimate jpeg_act_estimate(const void* x, Element element, const MapShape& shape, const float* inverse,
                                  const JpegActTables& tables, Coder coder) {
  const Sample sample(x, element, shape);
  std::vector<float> factors;
  for (const std::size_t channel : sample.channels()) factors.push_back(inverse[channel]);
  return {.elements = sample.shape().count(),
          .nonzeros = sample.nonzeros(),
          .bytes = coded_bytes(sample, element, factors, tables, coder)};
}

}  // namespace halfbyte::tensor
