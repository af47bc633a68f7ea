#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <iterator>
#include <numeric>

#include "tensor/error_bounded.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::size_t kFewestRuns = 32, kMostRuns = 256;  // of a sample
constexpr std::size_t kElementsPerRun = 2048;              // so that a sample takes little time of the whole
constexpr std::size_t kRunLength = 16;                     // elements
constexpr int kChoices = 4;

constexpr std::uint32_t without_sign(std::uint32_t d) { return d << 1 ^ -(d >> 31); }

// Bits of what the coders write for integers that were sampled, but for what they all have.
class Cost {
 public:
  void add(const std::uint32_t* run) {
    std::uint32_t any = 0, any_without_sign = 0;
    for (std::size_t i = 0; i < kRunLength; ++i) {
      const std::uint32_t u = without_sign(run[i]);
      any |= run[i];
      any_without_sign |= u;
      const int below = std::max(0, static_cast<int>(std::bit_width(u)) - 7);  // bits that are not in the symbol
      ++counts_[std::min<std::size_t>((u >> below) + static_cast<std::size_t>(below) * 64, kSymbols - 1)];
      raw_ += below;
    }
    widths_ += static_cast<double>(std::bit_width(any >> 31 == 0 ? any : any_without_sign)) * kRunLength;
  }

  [[nodiscard]] double bits(Coder coder) const {
    if (coder == Coder::fixed) return widths_;
    const float all = std::accumulate(counts_.begin(), counts_.end(), 0.0F);
    double sum = raw_;
    for (const float count : counts_) {
      if (count > 0) sum -= count * std::log2(count / all);
    }
    return sum;
  }

 private:
  static constexpr std::size_t kSymbols = 128 + 26 * 64;
  std::array<float, kSymbols> counts_{};
  double raw_ = 0, widths_ = 0;
};

}  // namespace

int choose_lags(const void* x, std::size_t count, const ErrorBoundedFormat& format, int fewest) {
  const auto quantize = error_bounded_kernels().quantize[static_cast<std::size_t>(format.element)];
  const auto& lags = format.lorenzo.lags;
  const int most = static_cast<int>(std::find(std::begin(lags), std::end(lags), 0U) - std::begin(lags));
  if (fewest >= most || count < kRunLength) return std::min(fewest, most);
  std::array<Cost, kChoices> costs{};
  std::array<std::array<std::uint32_t, kIntegersAtOnce>, 8> q;
  std::uint16_t outliers[kRunLength];
  const std::size_t runs = std::clamp(count / kElementsPerRun, kFewestRuns, kMostRuns);
  for (std::size_t run = 0; run < runs; ++run) {
    // Places as even as those of multiples of the golden ratio.
    const double fraction = static_cast<double>((run + 1) * 0x9E3779B9U & 0xFFFFFFFFU) * 0x1p-32;
    const auto place = static_cast<std::size_t>(fraction * static_cast<double>(count - kRunLength + 1));
    const std::size_t room = place % kPiece;
    for (std::size_t corner = 0; corner < std::size_t{1} << most; ++corner) {
      const std::size_t back = (corner & 1 ? lags[0] : 0) + (corner & 2 ? lags[1] : 0) + (corner & 4 ? lags[2] : 0);
      if (back <= room) {
        quantize(static_cast<const std::byte*>(x) + (place - back) * size_of(format.element), kRunLength, format.grid,
                 q[corner].data(), outliers);
      } else {
        q[corner].fill(0);
      }
    }
    for (int used = 0; used <= most; ++used) {
      if (used >= fewest) costs[used].add(q[0].data());
      if (used == most) break;
      for (std::size_t corner = 0; corner < std::size_t{1} << most; ++corner) {
        if (corner >> used & 1) continue;
        for (std::size_t i = 0; i < kRunLength; ++i) q[corner][i] -= q[corner | std::size_t{1} << used][i];
      }
    }
  }
  int best = fewest;
  for (int used = fewest + 1; used <= most; ++used) {
    if (costs[used].bits(format.coder) < costs[best].bits(format.coder)) best = used;
  }
  return best;
}

}  // namespace halfbyte::tensor
