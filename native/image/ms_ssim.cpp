#include "image/ms_ssim.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <vector>

#include "base/clones.hpp"

namespace halfbyte::image {
namespace {

constexpr int kWindow = 11;
constexpr double kSigma = 1.5;
constexpr std::array<double, 5> kWeights = {0.0448, 0.2856, 0.3001, 0.2363, 0.1333};
constexpr float kC1 = 0.01F * 255 * 0.01F * 255;
constexpr float kC2 = 0.03F * 255 * 0.03F * 255;

// Values are luma less this: smaller squares lose fewer bits in single precision, and variances do not change.
constexpr float kCenter = 128;

struct Plane {
  int width = 0, height = 0;
  std::vector<float> values;

  Plane(int w, int h) : width(w), height(h), values(static_cast<std::size_t>(w) * static_cast<std::size_t>(h)) {}
  float* row(int y) { return values.data() + static_cast<std::ptrdiff_t>(y) * width; }
  [[nodiscard]] const float* row(int y) const { return values.data() + static_cast<std::ptrdiff_t>(y) * width; }
};

struct Similarity {
  double structure;  // contrast and structure
  double full;       // luminance too
};

const std::array<float, kWindow> kGaussian = [] {
  std::array<double, kWindow> exact{};
  double sum = 0;
  for (int i = 0; i < kWindow; ++i) {
    const double distance = i - kWindow / 2;
    sum += exact[static_cast<std::size_t>(i)] = std::exp(-distance * distance / (2 * kSigma * kSigma));
  }
  std::array<float, kWindow> gaussian{};
  std::transform(exact.begin(), exact.end(), gaussian.begin(), [&](double v) { return static_cast<float>(v / sum); });
  return gaussian;
}();

HALFBYTE_CLONES
void luma_row(const std::uint8_t* pixels, int channels, int count, float* out) {
  if (channels == 1) {
    for (int i = 0; i < count; ++i) out[i] = static_cast<float>(pixels[i]) - kCenter;
    return;
  }
  for (int i = 0; i < count; ++i) {
    const std::uint8_t* p = pixels + 3 * i;
    out[i] = 0.299F * static_cast<float>(p[0]) + 0.587F * static_cast<float>(p[1]) +
             0.114F * static_cast<float>(p[2]) - kCenter;
  }
}

Plane luma_of(const Pixels& pixels) {
  Plane plane(pixels.width, pixels.height);
  for (int y = 0; y < pixels.height; ++y) luma_row(pixels.row(y), pixels.channels, pixels.width, plane.row(y));
  return plane;
}

Plane halved(const Plane& plane) {
  Plane half(plane.width / 2, plane.height / 2);
  for (int y = 0; y < half.height; ++y) {
    const float* top = plane.row(2 * y);
    const float* bottom = plane.row(2 * y + 1);
    float* out = half.row(y);
    for (int x = 0; x < half.width; ++x) {
      out[x] = 0.25F * (top[2 * x] + top[2 * x + 1] + bottom[2 * x] + bottom[2 * x + 1]);
    }
  }
  return half;
}

// Sums of eleven values that are `step` apart, for `count` neighbours: down columns, or along a row. Written out,
// because compilers make vectors of the outer loop only when there is no inner one.
HALFBYTE_CLONES
void weigh(const float* in, std::ptrdiff_t step, int count, float* __restrict out) {
  const float g0 = kGaussian[0], g1 = kGaussian[1], g2 = kGaussian[2], g3 = kGaussian[3], g4 = kGaussian[4];
  const float g5 = kGaussian[5];
  for (int x = 0; x < count; ++x) {
    const float* p = in + x;
    out[x] = g0 * (p[0] + p[10 * step]) + g1 * (p[step] + p[9 * step]) + g2 * (p[2 * step] + p[8 * step]) +
             g3 * (p[3 * step] + p[7 * step]) + g4 * (p[4 * step] + p[6 * step]) + g5 * p[5 * step];
  }
}

HALFBYTE_CLONES
void multiply(const float* a, const float* b, int count, float* squares, float* product) {
  for (int x = 0; x < count; ++x) {
    squares[x] = a[x] * a[x] + b[x] * b[x];
    product[x] = a[x] * b[x];
  }
}

// From local means of a, b, a^2 + b^2 and a * b; the last two are replaced by structure and full similarity.
HALFBYTE_CLONES
void compare(const float* mean_a, const float* mean_b, int count, float* squares, float* product) {
  for (int x = 0; x < count; ++x) {
    const float a = mean_a[x];
    const float b = mean_b[x];
    const float structure = (2 * (product[x] - a * b) + kC2) / (squares[x] - a * a - b * b + kC2);
    const float bright_a = a + kCenter;
    const float bright_b = b + kCenter;
    const float luminance = (2 * bright_a * bright_b + kC1) / (bright_a * bright_a + bright_b * bright_b + kC1);
    squares[x] = structure;
    product[x] = luminance * structure;
  }
}

// Eight running sums, because a single one is a chain that no processor can shorten.
HALFBYTE_CLONES
double sum_of(const float* values, int count) {
  double lanes[8] = {};
  int x = 0;
  for (; x + 8 <= count; x += 8) {
    for (int lane = 0; lane < 8; ++lane) lanes[lane] += static_cast<double>(values[x + lane]);
  }
  for (; x < count; ++x) lanes[x % 8] += static_cast<double>(values[x]);
  return ((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) + ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7]));
}

// The mean over all windows that lie inside.
Similarity windowed(const Plane& a, const Plane& b) {
  const int width = a.width - kWindow + 1;
  const int height = a.height - kWindow + 1;
  Plane squares(a.width, a.height);
  Plane product(a.width, a.height);
  multiply(a.row(0), b.row(0), static_cast<int>(a.values.size()), squares.row(0), product.row(0));
  Plane columns(a.width, 1);
  Plane means(width, 4);
  double structure = 0;
  double full = 0;
  for (int y = 0; y < height; ++y) {
    int quantity = 0;
    for (const Plane* plane : {&a, &b, static_cast<const Plane*>(&squares), static_cast<const Plane*>(&product)}) {
      weigh(plane->row(y), a.width, a.width, columns.row(0));
      weigh(columns.row(0), 1, width, means.row(quantity++));
    }
    compare(means.row(0), means.row(1), width, means.row(2), means.row(3));
    structure += sum_of(means.row(2), width);
    full += sum_of(means.row(3), width);
  }
  const double windows = static_cast<double>(width) * height;
  return {structure / windows, full / windows};
}

// One window over everything.
double global(const Plane& a, const Plane& b) {
  double sums[4] = {};
  for (std::size_t i = 0; i < a.values.size(); ++i) {
    const double left = static_cast<double>(a.values[i]);
    const double right = static_cast<double>(b.values[i]);
    sums[0] += left;
    sums[1] += right;
    sums[2] += left * left + right * right;
    sums[3] += left * right;
  }
  float means[4];
  for (int i = 0; i < 4; ++i) means[i] = static_cast<float>(sums[i] / static_cast<double>(a.values.size()));
  compare(&means[0], &means[1], 1, &means[2], &means[3]);
  return std::clamp(static_cast<double>(means[3]), 0.0, 1.0);
}

bool equal(const Pixels& a, const Pixels& b) {
  const auto size = static_cast<std::size_t>(a.width) * static_cast<std::size_t>(a.channels);
  for (int y = 0; y < a.height; ++y) {
    if (std::memcmp(a.row(y), b.row(y), size) != 0) return false;
  }
  return true;
}

std::size_t scales_that_fit(int side) {
  std::size_t scales = 0;
  for (; scales < kWeights.size() && side >= kWindow; side /= 2) ++scales;
  return scales;
}

}  // namespace

double ms_ssim(const Pixels& a, const Pixels& b) {
  if (equal(a, b)) return 1.0;
  Plane left = luma_of(a);
  Plane right = luma_of(b);
  const std::size_t scales = scales_that_fit(std::min(a.width, a.height));
  if (scales == 0) return global(left, right);
  const double all = std::accumulate(kWeights.begin(), kWeights.begin() + scales, 0.0);
  double result = 1;
  for (std::size_t scale = 0; scale < scales; ++scale) {
    const Similarity here = windowed(left, right);
    const bool last = scale + 1 == scales;
    result *= std::pow(std::max(0.0, last ? here.full : here.structure), kWeights[scale] / all);
    if (last) break;
    left = halved(left);
    right = halved(right);
  }
  return std::min(result, 1.0);
}

}  // namespace halfbyte::image
