// Error-bounded coding of tensors: dual quantization, prediction on integers, and a code without loss (Tian et al.,
// "cuSZ", PACT 2020; Jin et al., COMET, VLDB 2022).
//
//   q  = nearest(|x| * inverse), ties to even
//   x' = q * step, in the type of the elements
//
// in float32, both with the sign of x. With a shift, q is nearest(|x| * inverse + 1/2) and x', where q is not 0, is nearer
// to 0 by the shift: then x' is 0 where x is, and nowhere else. An element is an outlier, kept exactly, when |q| is beyond
// 2^22 or |x - x'| is above the bound, when x' is 0 though there is a shift and x is not, and when it is NaN or infinite;
// its q is 0. So zeros stay zero (and -0 becomes 0), and x' has never the other sign.
//
// Lorenzo prediction subtracts from each q those before it: at a distance, or lag, of 1 along a line, of a line along a
// plane, of a plane along a volume, one after the other. It goes on where a line or a plane ends, which costs little
// and is simple, and begins anew with every piece of 2^16 elements. Integers wrap around.
//
// A piece is coded by itself:
//
//   the number of outliers, 32 bits
//   the integers, with Huffman: a byte that says whether they have a sign; then those below 0 become odd, -2d - 1, and
//     the others are doubled. A plane of bytes (byte_plane.hpp), one an integer u: u itself below 128; from there on
//     128 + 4 (e - 7) + m, where 2^e is the highest bit of u and m the two after it. The e - 2 bits below these, of all
//     such u, which fill bytes from the top
//   or fixed: a byte for each block of them, and the blocks (block_bits.hpp)
//   the places of outliers, 16 bits each and increasing; the outliers
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "tensor/element.hpp"
#include "base/isa.hpp"
#include "tensor/pieces.hpp"

namespace halfbyte::tensor {

enum class Coder : int { huffman = 0, fixed };

// What elements are rounded to. A step of 0 makes everything but zeros an outlier.
struct Grid {
  float bound;
  float step;     // twice the bound
  float inverse;  // of the step
  float shift;    // 0, or the bound
};

// Lags, 0 where there is none.
struct Lorenzo {
  std::size_t lags[3];
};

struct ErrorBoundedFormat {
  Element element;
  Coder coder;
  Grid grid;
  Lorenzo lorenzo;
};

// How many of these lags are best used, of `fewest` on: 0 for none, else the first so many. By the information in a
// sample of the integers.
int choose_lags(const void* x, std::size_t count, const ErrorBoundedFormat& format, int fewest);

struct ErrorBoundedSize {
  std::size_t bytes;
  std::size_t outliers;
};

// Codes all pieces and says how many bytes each takes. The bytes are to be fetched with error_bounded_gather by the
// same thread; until then they are kept.
ErrorBoundedSize error_bounded_encode(const void* x, std::size_t count, const ErrorBoundedFormat& format,
                                      std::int32_t* sizes, int num_threads);
void error_bounded_gather(std::uint8_t* bytes, int num_threads);

// False when error_bounded_encode did not make these bytes; x is undefined then.
[[nodiscard]] bool error_bounded_decode(std::span<const std::uint8_t> bytes, const std::int32_t* sizes,
                                        std::size_t count, const ErrorBoundedFormat& format, void* x,
                                        int num_threads);

// Arrays of integers have room for a whole number of kIntegersAtOnce, which may be written.
constexpr std::size_t kIntegersAtOnce = 64;

struct ErrorBoundedKernels {
  // By element type. Returns how many outliers there are.
  std::size_t (*quantize[3])(const void* x, std::size_t count, const Grid& grid, std::uint32_t* q,
                             std::uint16_t* outliers);
  void (*dequantize[3])(const std::uint32_t* q, std::size_t count, const Grid& grid, void* x);
  void (*difference)(const std::uint32_t* q, std::size_t count, std::size_t lag, std::uint32_t* d);
  void (*integrate)(std::uint32_t* d, std::size_t count, std::size_t lag);
  bool (*has_sign)(const std::uint32_t* d, std::size_t count);
  // d becomes u, if it has a sign, and u a byte each; returns whether any is above 127.
  bool (*to_bytes)(std::uint32_t* d, std::size_t count, bool has_sign, std::uint8_t* bytes);
  void (*from_bytes)(const std::uint8_t* bytes, std::size_t count, std::uint32_t* u);
  void (*give_sign)(std::uint32_t* u, std::size_t count);
};
HALFBYTE_DECLARE_KERNELS(ErrorBoundedKernels, error_bounded_kernels)

}  // namespace halfbyte::tensor
