// Any bytes as codes in blocks: refused, or codes that can be packed again. And as codes, which come
// back. The last bytes say how.
#include <algorithm>
#include <vector>

#include "fuzz/fuzz.hpp"
#include "tensor/code_blocks.hpp"
#include "tensor/pieces.hpp"

using namespace halfbyte;
using fuzz::require;

namespace {

constexpr int kThreads = 1;
constexpr std::size_t kChoices = 4;
using Bytes = std::vector<std::uint8_t>;

struct Packed {
  Bytes widths, masks, codes;
};

// The codes, or none where the parts are damaged.
std::vector<std::int16_t> unpack(const Packed& packed, std::size_t count, bool has_signs) {
  std::vector<tensor::CodeCounts> counts(tensor::num_pieces(count));
  if (tensor::check_code_blocks(packed.widths.data(), packed.masks.data(), {packed.masks.size(), packed.codes.size()},
                                count, counts.data(), kThreads) != tensor::CodeBlockFault::none) {
    return {};
  }
  std::vector<std::int16_t> codes(count);
  tensor::read_code_blocks(packed.widths.data(), packed.masks.data(), packed.codes.data(), counts.data(), count,
                           has_signs, codes.data(), kThreads);
  return codes;
}

Packed pack(const std::vector<std::int16_t>& codes, bool has_signs) {
  Packed packed{.widths = Bytes((tensor::num_code_blocks(codes.size()) + 1) / 2), .masks = {}, .codes = {}};
  std::vector<tensor::CodeCounts> counts(tensor::num_pieces(codes.size()));
  const tensor::CodeBlockBytes bytes = tensor::measure_code_blocks(codes.data(), codes.size(), has_signs,
                                                                   packed.widths.data(), counts.data(), kThreads);
  packed.masks.resize(bytes.masks);
  packed.codes.resize(bytes.codes);
  tensor::write_code_blocks(codes.data(), codes.size(), has_signs, counts.data(), packed.masks.data(),
                            packed.codes.data(), kThreads);
  return packed;
}

void unpack_anything(const std::uint8_t* data, std::size_t size, std::size_t count, std::size_t masks, bool has_signs) {
  const std::size_t widths = (tensor::num_code_blocks(count) + 1) / 2;
  if (size < widths) return;
  masks = std::min(masks, size - widths);
  const Packed packed{.widths = Bytes(data, data + widths),
                      .masks = Bytes(data + widths, data + widths + masks),
                      .codes = Bytes(data + widths + masks, data + size)};
  const std::vector<std::int16_t> codes = unpack(packed, count, has_signs);
  if (!codes.empty()) require(unpack(pack(codes, has_signs), count, has_signs) == codes, "codes come back");
}

void pack_anything(const std::uint8_t* data, std::size_t size, bool has_signs) {
  std::vector<std::int16_t> codes(size);
  for (std::size_t i = 0; i < size; ++i) codes[i] = has_signs ? static_cast<std::int8_t>(data[i]) : data[i];
  require(unpack(pack(codes, has_signs), size, has_signs) == codes, "codes come back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kChoices) return 0;
  size -= kChoices;
  const std::uint8_t* const choices = data + size;
  const bool has_signs = choices[0] % 2 != 0;
  const std::size_t masks = 8 * (choices[0] / 2U + choices[3] / 128U * 128U);
  unpack_anything(data, size, choices[1] | choices[2] % 64U << 8, masks, has_signs);
  pack_anything(data, size, has_signs);
  return 0;
}
