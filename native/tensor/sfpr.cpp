#include "tensor/sfpr.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <vector>

#include "tensor/channels.hpp"
#include "tensor/parallel.hpp"
#include "tensor/workspace.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::size_t kPiece = 1 << 16;       // elements; even, so that pieces share no byte
constexpr std::size_t kShortestPlane = 16;    // planes of fewer elements get a factor for each of them
constexpr std::size_t kTable = 1024;          // factors that such a table has at least
constexpr std::size_t kRunRoom = kZvcRun + 64;  // compressing writes a little more than it keeps

const SfprKernels& kernels_for(const ChannelArray& array) {
  return sfpr_kernels().of[static_cast<int>(array.element)];
}

// The maxima in `scales` become scales, and `inverse` their inverses.
bool invert(float levels, float* scales, std::vector<float>& inverse) {
  bool is_finite = true;
  for (std::size_t c = 0; c < inverse.size(); ++c) {
    const float max = scales[c];
    inverse[c] = levels / max;
    scales[c] = max / levels;
    if (!std::isfinite(inverse[c])) scales[c] = inverse[c] = 0;
    if (!std::isfinite(max)) scales[c] = std::numeric_limits<float>::quiet_NaN();
    is_finite = is_finite && std::isfinite(max);
  }
  return is_finite;
}

// The factors of channels, by elements in memory order. Where planes are short, in a table that kernels read as they
// read the elements; where all channels together are few elements, this table repeats them.
class FactorsOfElements {
 public:
  FactorsOfElements(const float* factors, const ChannelArray& array) {
    const std::size_t inner = array.channels == 1 ? std::max<std::size_t>(array.count(), 1) : array.inner;
    const std::size_t period = array.channels * inner;
    factors_ = {.table = factors, .period = array.channels, .run = inner};
    const bool pays = period < array.count() / 4;
    if (inner >= kShortestPlane || !pays || (inner == 1 && period >= kTable)) return;
    table_.resize(period * (kTable / period + 1));
    for (std::size_t i = 0; i < period; ++i) table_[i] = factors[i / inner];
    for (std::size_t i = period; i < table_.size(); ++i) table_[i] = table_[i - period];
    factors_ = {.table = table_.data(), .period = table_.size(), .run = 1};
  }

  [[nodiscard]] const Factors& get() const { return factors_; }

 private:
  std::vector<float> table_;
  Factors factors_{};
};

struct Encoding {
  SfprKind kind;
  std::vector<float> inverse;
};

Encoding measure(const void* x, const ChannelArray& array, float levels, float* scales, int num_threads) {
  Encoding encoding{.kind = {}, .inverse = std::vector<float>(array.channels)};
  encoding.kind.is_unsigned =
      channel_ranges(x, array.element, array.outer, array.channels, array.inner, scales, num_threads);
  encoding.kind.is_finite = invert(encoding.kind.is_unsigned ? 2 * levels : levels, scales, encoding.inverse);
  return encoding;
}

template <class Task>
void for_slices(std::size_t count, std::size_t length, int num_threads, SfprSlice slice, const Task& task) {
  parallel_for(num_threads, (count + length - 1) / length, [&](std::size_t i) {
    SfprSlice own = slice;
    own.first = i * length;
    own.count = std::min(length, count - own.first);
    task(i, own);
  });
}

}  // namespace

SfprKind sfpr_encode(const void* x, const ChannelArray& array, int bits, float levels, float* scales,
                     std::uint8_t* codes, int num_threads) {
  const Encoding encoding = measure(x, array, levels, scales, num_threads);
  const FactorsOfElements inverse(encoding.inverse.data(), array);
  const auto encode = bits == 4 ? kernels_for(array).encode4 : kernels_for(array).encode8;
  for_slices(array.count(), kPiece, num_threads, {.factors = inverse.get(), .is_unsigned = encoding.kind.is_unsigned},
             [&](std::size_t, const SfprSlice& slice) {
               encode(x, slice, codes + slice.first * static_cast<std::size_t>(bits) / 8);
             });
  return encoding.kind;
}

void sfpr_decode(const std::uint8_t* codes, const float* scales, const ChannelArray& array, int bits, bool is_unsigned,
                 void* x, int num_threads) {
  const FactorsOfElements scale(scales, array);
  const auto decode = bits == 4 ? kernels_for(array).decode4 : kernels_for(array).decode8;
  for_slices(array.count(), kPiece, num_threads, {.factors = scale.get(), .is_unsigned = is_unsigned},
             [&](std::size_t, const SfprSlice& slice) {
               decode(codes + slice.first * static_cast<std::size_t>(bits) / 8, slice, x);
             });
}

SfprZvc sfpr_zvc_encode(const void* x, const ChannelArray& array, float levels, float* scales, std::uint8_t* mask,
                        std::int32_t* counts, int num_threads) {
  const Encoding encoding = measure(x, array, levels, scales, num_threads);
  const FactorsOfElements inverse(encoding.inverse.data(), array);
  const std::size_t runs = zvc_runs(array.count());
  std::uint8_t* const room = workspace(runs * kRunRoom);
  if (room == nullptr) throw std::bad_alloc();
  for_slices(array.count(), kZvcRun, num_threads, {.factors = inverse.get(), .is_unsigned = encoding.kind.is_unsigned},
             [&](std::size_t run, const SfprSlice& slice) {
               counts[run] = static_cast<std::int32_t>(
                   kernels_for(array).encode_zvc(x, slice, mask + slice.first / 8, room + run * kRunRoom));
             });
  std::size_t codes = 0;
  for (std::size_t run = 0; run < runs; ++run) codes += static_cast<std::size_t>(counts[run]);
  return {.kind = encoding.kind, .codes = codes};
}

void sfpr_zvc_gather(const std::int32_t* counts, std::size_t runs, std::uint8_t* codes, int num_threads) {
  const std::uint8_t* const room = workspace(runs * kRunRoom);
  std::vector<std::size_t> begin(runs + 1);
  for (std::size_t run = 0; run < runs; ++run) begin[run + 1] = begin[run] + static_cast<std::size_t>(counts[run]);
  parallel_for(num_threads, runs, [&](std::size_t run) {
    if (counts[run] > 0) std::memcpy(codes + begin[run], room + run * kRunRoom, begin[run + 1] - begin[run]);
  });
}

bool sfpr_zvc_decode(const std::uint8_t* mask, const std::int32_t* counts, const std::uint8_t* codes,
                     std::size_t num_codes, const float* scales, const ChannelArray& array, bool is_unsigned, void* x,
                     int num_threads) {
  const std::size_t runs = zvc_runs(array.count());
  std::vector<std::size_t> begin(runs + 1);
  for (std::size_t run = 0; run < runs; ++run) {
    if (counts[run] < 0 || static_cast<std::size_t>(counts[run]) > num_codes - begin[run]) return false;
    begin[run + 1] = begin[run] + static_cast<std::size_t>(counts[run]);
  }
  if (begin[runs] != num_codes) return false;
  const FactorsOfElements scale(scales, array);
  std::atomic<bool> sound{true};
  for_slices(array.count(), kZvcRun, num_threads, {.factors = scale.get(), .is_unsigned = is_unsigned},
             [&](std::size_t run, const SfprSlice& slice) {
               const bool decoded = kernels_for(array).decode_zvc(mask + slice.first / 8, codes + begin[run],
                                                                  begin[run + 1] - begin[run], slice, x);
               if (!decoded) sound.store(false, std::memory_order_relaxed);
             });
  return sound;
}

}  // namespace halfbyte::tensor
