#include "tensor/error_bounded.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <vector>

#include "tensor/error_bounded_integers.hpp"

namespace halfbyte::tensor {
namespace {

constexpr std::size_t kCountSize = 4;

// What a thread needs for a piece; it stays with the thread, since new memory costs as much as the work.
struct Scratch {
  std::uint32_t q[kPiece + kIntegersAtOnce];
  std::uint32_t d[kPiece + kIntegersAtOnce];
  std::uint16_t outliers[kPiece];
  IntegerBytes bytes;
  std::uint8_t out[kCountSize + kIntegersRoom + 6 * kPiece];
};

Scratch& scratch() {
  thread_local const std::unique_ptr<Scratch> own(new Scratch);
  return *own;
}

// Pieces that were coded and not fetched yet.
thread_local std::vector<std::vector<std::uint8_t>> waiting;

struct Piece {
  const ErrorBoundedFormat& format;
  std::size_t count;
  Scratch& own;

  [[nodiscard]] std::size_t kind() const { return static_cast<std::size_t>(format.element); }
  [[nodiscard]] std::size_t size() const { return size_of(format.element); }
  [[nodiscard]] bool predicts() const { return format.lorenzo.lags[0] != 0; }

  // Makes integers of some elements, and appends to the outliers.
  std::size_t quantize(const std::byte* x, std::size_t first, std::size_t n, std::uint32_t* q,
                       std::size_t found) const {
    const std::size_t more =
        error_bounded_kernels().quantize[kind()](x + first * size(), n, format.grid, q, own.outliers + found);
    for (std::size_t i = found; first != 0 && i < found + more; ++i) {
      own.outliers[i] = static_cast<std::uint16_t>(own.outliers[i] + first);
    }
    return found + more;
  }

  void dequantize(const std::uint32_t* q, std::size_t first, std::size_t n, std::byte* x) const {
    error_bounded_kernels().dequantize[kind()](q, n, format.grid, x + first * size());
  }
};

// The differences of what is in q; where they are, the other array is free.
std::uint32_t* predict(const Piece& piece) {
  std::uint32_t *from = piece.own.q, *to = piece.own.d;
  for (const std::size_t lag : piece.format.lorenzo.lags) {
    if (lag == 0) break;
    error_bounded_kernels().difference(from, piece.count, lag, to);
    std::swap(from, to);
  }
  return from;
}

void integrate(const Piece& piece, std::uint32_t* d) {
  for (const std::size_t lag : piece.format.lorenzo.lags) {
    if (lag != 0 && lag < piece.count) error_bounded_kernels().integrate(d, piece.count, lag);
  }
}

// A block at a time where nothing is predicted, so that integers stay in the nearest cache.
std::uint8_t* put_fixed_directly(const Piece& piece, const std::byte* x, std::uint8_t* out, std::size_t& found) {
  std::uint32_t* const q = piece.own.q;
  return put_fixed(piece.count, out, [&](std::size_t first) {
    const std::size_t n = std::min(kBitsBlock, piece.count - first);
    found = piece.quantize(x, first, n, q, found);
    std::fill(q + n, q + kBitsBlock, 0);
    return q;
  });
}

std::uint8_t* put_integers(const Piece& piece, const std::byte* x, std::uint8_t* out, std::size_t& found) {
  const bool fixed = piece.format.coder == Coder::fixed;
  if (fixed && !piece.predicts()) return put_fixed_directly(piece, x, out, found);
  found = piece.quantize(x, 0, piece.count, piece.own.q, 0);
  std::uint32_t* const d = predict(piece);
  if (!fixed) return put_huffman(d, piece.count, piece.own.bytes, out);
  std::uint32_t last[kBitsBlock];
  return put_fixed(piece.count, out, [&](std::size_t first) -> const std::uint32_t* {
    if (piece.count - first >= kBitsBlock) return d + first;
    std::fill(std::copy(d + first, d + piece.count, last), last + kBitsBlock, 0);
    return last;
  });
}

std::vector<std::uint8_t> encode(const Piece& piece, const std::byte* x, std::size_t& found) {
  std::uint8_t* const begin = piece.own.out;
  std::uint8_t* out = put_integers(piece, x, begin + kCountSize, found);
  const auto count = static_cast<std::uint32_t>(found);
  std::memcpy(begin, &count, kCountSize);
  std::memcpy(out, piece.own.outliers, 2 * found);
  out += 2 * found;
  for (std::size_t i = 0; i < found; ++i, out += piece.size()) {
    std::memcpy(out, x + piece.own.outliers[i] * piece.size(), piece.size());
  }
  return {begin, out};
}

bool take_fixed_directly(const Piece& piece, ByteView in, std::byte* x) {
  return take_fixed(
      in, piece.count, [&](std::size_t) { return piece.own.q; },
      [&](std::size_t first) { piece.dequantize(piece.own.q, first, std::min(kBitsBlock, piece.count - first), x); });
}

bool take_integers(const Piece& piece, ByteView in, std::byte* x) {
  const bool fixed = piece.format.coder == Coder::fixed;
  if (fixed && !piece.predicts()) return take_fixed_directly(piece, in, x);
  std::uint32_t* const d = piece.own.d;
  const auto place = [&](std::size_t first) { return d + first; };
  const bool sound = fixed ? take_fixed(in, piece.count, place, [](std::size_t) {})
                           : take_huffman(in, piece.own.bytes, d, piece.count);
  if (!sound) return false;
  integrate(piece, d);
  piece.dequantize(d, 0, piece.count, x);
  return true;
}

bool put_outliers_back(const Piece& piece, ByteView places, ByteView values, std::byte* x) {
  std::size_t least = 0;
  for (std::size_t i = 0; i < places.size() / 2; ++i) {
    std::uint16_t place;
    std::memcpy(&place, places.data() + 2 * i, 2);
    if (place < least || place >= piece.count) return false;
    std::memcpy(x + place * piece.size(), values.data() + i * piece.size(), piece.size());
    least = std::size_t{place} + 1;
  }
  return true;
}

bool decode(const Piece& piece, ByteView in, std::byte* x) {
  if (in.size() < kCountSize) return false;
  std::uint32_t outliers;
  std::memcpy(&outliers, in.data(), kCountSize);
  in = in.subspan(kCountSize);
  const std::size_t size = (2 + piece.size()) * std::size_t{outliers};
  if (in.size() < size) return false;
  const ByteView kept = in.last(size);
  return take_integers(piece, in.first(in.size() - size), x) &&
         put_outliers_back(piece, kept.first(2 * std::size_t{outliers}), kept.subspan(2 * std::size_t{outliers}), x);
}

}  // namespace

ErrorBoundedSize error_bounded_encode(const void* x, std::size_t count, const ErrorBoundedFormat& format,
                                      std::int32_t* sizes, int num_threads) {
  auto& pieces = waiting;
  pieces.clear();
  pieces.resize(num_pieces(count));
  std::atomic<std::size_t> bytes{0}, outliers{0};
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    const Piece piece{.format = format, .count = length, .own = scratch()};
    std::size_t found = 0;
    auto& coded = pieces[first / kPiece];
    coded = encode(piece, static_cast<const std::byte*>(x) + first * piece.size(), found);
    sizes[first / kPiece] = static_cast<std::int32_t>(coded.size());
    bytes += coded.size();
    outliers += found;
  });
  return {.bytes = bytes, .outliers = outliers};
}

void error_bounded_gather(std::uint8_t* bytes, int num_threads) {
  const auto pieces = std::move(waiting);
  waiting.clear();
  std::vector<std::size_t> begin(pieces.size() + 1);
  for (std::size_t i = 0; i < pieces.size(); ++i) begin[i + 1] = begin[i] + pieces[i].size();
  parallel_for(num_threads, pieces.size(),
               [&](std::size_t i) { std::copy(pieces[i].begin(), pieces[i].end(), bytes + begin[i]); });
}

bool error_bounded_decode(ByteView bytes, const std::int32_t* sizes, std::size_t count,
                          const ErrorBoundedFormat& format, void* x, int num_threads) {
  std::vector<std::size_t> begin(num_pieces(count) + 1);
  for (std::size_t i = 0; i + 1 < begin.size(); ++i) {
    if (sizes[i] < 0) return false;
    begin[i + 1] = begin[i] + static_cast<std::size_t>(sizes[i]);
  }
  if (begin.back() != bytes.size()) return false;
  std::atomic<bool> sound{true};
  for_pieces(count, num_threads, [&](std::size_t first, std::size_t length) {
    const Piece piece{.format = format, .count = length, .own = scratch()};
    const std::size_t i = first / kPiece;
    if (!decode(piece, bytes.subspan(begin[i], begin[i + 1] - begin[i]),
                static_cast<std::byte*>(x) + first * piece.size())) {
      sound.store(false, std::memory_order_relaxed);
    }
  });
  return sound;
}

}  // namespace halfbyte::tensor
