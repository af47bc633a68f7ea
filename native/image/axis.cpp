#include "image/axis.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>

namespace halfbyte::image {
namespace {

// The pixels that may count, and the box relative to the first of them. Working from the crop's own corner makes the
// sums of crop-then-resize the very same floating-point numbers.
struct Window {
  int offset, size;
  double begin;
};

Window window_of(const AxisSpec& spec) {
  if (!spec.clip) return {0, spec.size, spec.begin};
  const int first = std::clamp(static_cast<int>(std::floor(spec.begin)), 0, spec.size - 1);
  const int last = std::clamp(static_cast<int>(std::ceil(spec.begin + spec.length)), first + 1, spec.size);
  return {first, last - first, spec.begin - first};
}

// The taps of one output pixel: pixels [begin, end) of the window, and their weights from the first on.
struct Taps {
  int begin, end;
  std::int32_t* weights;
};

Taps weigh(const Window& window, double center, double support, double* exact, std::int32_t* weights) {
  const int begin = std::clamp(static_cast<int>(center - support + 0.5), 0, window.size - 1);
  const int end = std::clamp(static_cast<int>(center + support + 0.5), begin + 1, window.size);
  const double per_pixel = 1.0 / support;
  double sum = 0;
  for (int k = begin; k < end; ++k) {
    const double distance = std::abs((k - center + 0.5) * per_pixel);
    exact[k - begin] = distance < 1.0 ? 1.0 - distance : 0.0;
    sum += exact[k - begin];
  }
  for (int k = 0; k < end - begin; ++k) {
    weights[k] = static_cast<std::int32_t>(0.5 + (sum != 0.0 ? exact[k] / sum : 0.0) * kOne);
  }
  return {begin, end, weights};
}

// Leaves out zeros at both ends: they cost time, and reach for pixels that need not be decoded.
Taps trimmed(Taps taps) {
  while (taps.end - taps.begin > 1 && taps.weights[taps.end - taps.begin - 1] == 0) --taps.end;
  while (taps.end - taps.begin > 1 && taps.weights[0] == 0) ++taps.begin, ++taps.weights;
  return taps;
}

}  // namespace

void Axis::fill(const AxisSpec& spec) {
  const Window window = window_of(spec);
  const double scale = spec.length / spec.output;
  const double support = std::max(scale, 1.0);
  // The window bounds the taps too: a box far larger than its output cannot ask for more memory than the image has.
  const int stride = static_cast<int>(std::min(std::ceil(support) * 2 + 1, static_cast<double>(window.size)));
  const auto outputs = static_cast<std::size_t>(spec.output);
  first.resize(outputs);
  count.resize(outputs);
  weights.resize(outputs * static_cast<std::size_t>(stride));
  std::vector<double> exact(static_cast<std::size_t>(stride));
  std::vector<std::int32_t> fixed(static_cast<std::size_t>(stride));
  for (int i = 0; i < spec.output; ++i) {
    const Taps own = trimmed(weigh(window, window.begin + (i + 0.5) * scale, support, exact.data(), fixed.data()));
    const auto place = static_cast<std::size_t>(spec.reversed ? spec.output - 1 - i : i);
    const int begin = window.offset + own.begin;
    count[place] = own.end - own.begin;
    first[place] = spec.reversed ? spec.size - begin - count[place] : begin;
    std::int32_t* out = weights.data() + place * static_cast<std::size_t>(stride);
    std::copy_n(own.weights, count[place], out);
    if (spec.reversed) std::reverse(out, out + count[place]);
  }
  even_out(stride);
}

// Gives every output pixel the same number of taps, which spares the inner loops a branch that cannot be predicted.
void Axis::even_out(int stride) {
  source = {first[0], first[0] + count[0]};
  copies = true;
  taps = 1;
  for (std::size_t i = 0; i < first.size(); ++i) {
    source.begin = std::min(source.begin, first[i]);
    source.end = std::max(source.end, first[i] + count[i]);
    taps = std::max(taps, count[i]);
    copies = copies && count[i] == 1 && first[i] == first[0] + static_cast<int>(i);
  }
  start.resize(first.size());
  for (std::size_t i = 0; i < first.size(); ++i) {
    start[i] = std::min(first[i], source.end - taps);
    const std::int32_t* from = weights.data() + i * static_cast<std::size_t>(stride);
    std::int32_t* to = weights.data() + i * static_cast<std::size_t>(taps);
    const int lead = first[i] - start[i];
    std::memmove(to + lead, from, static_cast<std::size_t>(count[i]) * sizeof *to);
    std::fill_n(to, lead, 0);
    std::fill_n(to + lead + count[i], taps - lead - count[i], 0);
  }
}

void Axis::mirror() {
  std::reverse(first.begin(), first.end());
  std::reverse(count.begin(), count.end());
  std::reverse(start.begin(), start.end());
  std::int32_t* low = weights.data();
  std::int32_t* high = low + first.size() * static_cast<std::size_t>(taps);
  for (std::size_t i = 0; i < first.size() / 2; ++i, low += taps) {
    high -= taps;
    std::swap_ranges(low, low + taps, high);
  }
  copies = copies && first.size() == 1;
}

}  // namespace halfbyte::image
