// Codes in blocks, in buffers of exactly their size, and what is damaged about them.
#include "tensor/code_blocks.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "check.hpp"
#include "tensor/pieces.hpp"

namespace halfbyte::tensor {
namespace {

constexpr int kThreads = 3;

struct Packed {
  std::vector<std::uint8_t> widths, masks, codes;
  std::vector<CodeCounts> counts;
};

std::vector<std::int16_t> some_codes(std::size_t count, unsigned one_in, int largest, bool has_signs) {
  std::vector<std::int16_t> codes(count);
  std::uint64_t state = count + one_in;
  for (std::int16_t& code : codes) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    if ((state >> 40U) % one_in != 0) continue;
    const int code_size = 1 + static_cast<int>((state >> 48U) % static_cast<unsigned>(largest));
    code = static_cast<std::int16_t>(has_signs && state >> 63U ? -code_size : code_size);
  }
  return codes;
}

Packed pack(const std::vector<std::int16_t>& codes, bool has_signs) {
  Packed packed;
  packed.widths.resize((num_code_blocks(codes.size()) + 1) / 2, 0xff);
  packed.counts.resize(num_pieces(codes.size()));
  const auto measure = [&](std::uint8_t* widths) {
    return measure_code_blocks(codes.data(), codes.size(), has_signs, widths, packed.counts.data(), kThreads);
  };
  const CodeBlockBytes bytes = measure(packed.widths.data());
  CHECK(measure(nullptr).masks == bytes.masks && measure(nullptr).codes == bytes.codes);
  packed.masks.resize(bytes.masks);
  packed.codes.resize(bytes.codes);
  write_code_blocks(codes.data(), codes.size(), has_signs, packed.counts.data(), packed.masks.data(),
                    packed.codes.data(), kThreads);
  return packed;
}

CodeBlockFault check(Packed& packed, std::size_t count) {
  packed.counts.assign(num_pieces(count), {});
  return check_code_blocks(packed.widths.data(), packed.masks.data(), {packed.masks.size(), packed.codes.size()}, count,
                           packed.counts.data(), kThreads);
}

std::vector<std::int16_t> read(const Packed& packed, std::size_t count, bool has_signs) {
  std::vector<std::int16_t> codes(count, -1);
  read_code_blocks(packed.widths.data(), packed.masks.data(), packed.codes.data(), packed.counts.data(), count,
                   has_signs, codes.data(), kThreads);
  return codes;
}

void test_there_and_back(std::size_t count, unsigned one_in, int largest, bool has_signs) {
  const std::vector<std::int16_t> codes = some_codes(count, one_in, largest, has_signs);
  Packed packed = pack(codes, has_signs);
  CHECK(check(packed, count) == CodeBlockFault::none);
  CHECK(read(packed, count, has_signs) == codes);
}

void test_faults() {
  const std::size_t count = kPiece + 65;
  std::vector<std::int16_t> codes = some_codes(count, 2, 128, true);
  codes.back() = 1;
  const Packed sound = pack(codes, true);
  const auto fault = [&](auto change) {
    Packed packed = sound;
    change(packed);
    return check(packed, count);
  };
  CHECK(fault([](Packed&) {}) == CodeBlockFault::none);
  CHECK(fault([](Packed& p) { p.widths[600 / 2] = 0xaf; }) == CodeBlockFault::width);
  CHECK(fault([](Packed& p) { p.widths[3] = 0; }) == CodeBlockFault::masks);
  CHECK(fault([](Packed& p) { p.masks.pop_back(); }) == CodeBlockFault::masks);
  CHECK(fault([](Packed& p) { p.masks.back() |= 0x80; }) == CodeBlockFault::fit);
  CHECK(fault([](Packed& p) { std::fill_n(p.masks.begin() + 8, 8, std::uint8_t{0}); }) == CodeBlockFault::fit);
  CHECK(fault([](Packed& p) { p.codes.pop_back(); }) == CodeBlockFault::codes);
  CHECK(fault([](Packed& p) { p.widths[0] = 0x11; }) == CodeBlockFault::codes);
}

// Codes that there must not be do no harm to memory.
void test_wild_codes() {
  std::vector<std::int16_t> codes(3 * kCodeBlock);
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int16_t>(i * 12345 - 32768);
  for (const bool has_signs : {false, true}) (void)pack(codes, has_signs);
}

}  // namespace
}  // namespace halfbyte::tensor

int main() {
  using namespace halfbyte::tensor;
  for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64}, std::size_t{65},
                                  std::size_t{1000}, kPiece, 2 * kPiece + 129}) {
    for (const unsigned one_in : {1U, 2U, 300U}) {
      for (const int largest : {1, 2, 17, 128}) {
        test_there_and_back(count, one_in, largest, false);
        test_there_and_back(count, one_in, largest, true);
      }
      test_there_and_back(count, one_in, 256, false);
    }
  }
  test_faults();
  test_wild_codes();
  return halfbyte::test::result();
}
