#include "jpeg/huffman.hpp"

#include <algorithm>
#include <cstddef>

namespace halfbyte::jpeg {
namespace {

constexpr int kSymbols = 257;   // 256 is the place holder that takes the code of ones only
constexpr int kMaxLength = 16;
constexpr int kDepths = 64;     // frequencies are below 2^32, so no unlimited code is longer

struct Leaf {
  std::uint32_t frequency;
  std::uint16_t symbol;
};

// How many leaves of the Huffman tree lie at each depth. Leaves are sorted by increasing frequency, so merged nodes
// come out in increasing order too and two queues replace a heap.
std::array<std::uint16_t, kDepths> depths_of(std::span<const Leaf> leaves) {
  std::array<std::uint64_t, kSymbols> weight{};
  std::array<std::uint16_t, 2 * kSymbols> parent{};
  const std::size_t n = leaves.size();
  std::size_t leaf = 0, node = 0;
  const auto lightest = [&](std::size_t made) -> std::size_t {
    if (node == made || (leaf < n && leaves[leaf].frequency <= weight[node])) return leaf++;
    return n + node++;
  };
  for (std::size_t made = 0; made + 1 < n; ++made) {
    for (int side = 0; side < 2; ++side) {
      const std::size_t child = lightest(made);
      weight[made] += child < n ? leaves[child].frequency : weight[child - n];
      parent[child] = static_cast<std::uint16_t>(n + made);
    }
  }
  std::array<std::uint16_t, kDepths> counts{};
  std::array<std::uint8_t, 2 * kSymbols> depth{};
  for (std::size_t i = 2 * n - 2; i-- > 0;) {  // the root is the last node and lies at depth 0
    depth[i] = static_cast<std::uint8_t>(depth[parent[i]] + 1);
    if (i < n) ++counts[depth[i]];
  }
  return counts;
}

// Shortens the code to 16 bits: a pair of the longest codes makes room by lengthening a shorter one (T.81, figure K.3).
void limit_lengths(std::array<std::uint16_t, kDepths>& counts) {
  for (std::size_t length = kDepths - 1; length > kMaxLength; --length) {
    while (counts[length] > 0) {
      std::size_t shorter = length - 2;
      while (counts[shorter] == 0) --shorter;
      counts[length] = static_cast<std::uint16_t>(counts[length] - 2);
      ++counts[length - 1];
      counts[shorter + 1] = static_cast<std::uint16_t>(counts[shorter + 1] + 2);
      --counts[shorter];
    }
  }
}

}  // namespace

HuffmanCode optimal_code(std::span<const std::uint32_t, 256> frequencies) {
  std::array<Leaf, kSymbols> leaves;
  std::size_t n = 0;
  leaves[n++] = {0, 256};  // lighter than every symbol that occurs, so it gets a code of the greatest length
  for (std::uint16_t symbol = 0; symbol < 256; ++symbol) {
    if (frequencies[symbol] != 0) leaves[n++] = {frequencies[symbol], symbol};
  }
  HuffmanCode code;
  if (n == 1) return code;
  std::sort(leaves.begin() + 1, leaves.begin() + static_cast<std::ptrdiff_t>(n), [](const Leaf& a, const Leaf& b) {
    return a.frequency != b.frequency ? a.frequency < b.frequency : a.symbol > b.symbol;
  });
  std::array<std::uint16_t, kDepths> counts = depths_of({leaves.data(), n});
  limit_lengths(counts);
  std::size_t longest = kMaxLength;
  while (counts[longest] == 0) --longest;
  --counts[longest];
  for (std::size_t length = 1; length <= kMaxLength; ++length) {
    code.counts[length] = static_cast<std::uint8_t>(counts[length]);
  }
  code.num_symbols = static_cast<int>(n) - 1;
  for (std::size_t i = 1; i < n; ++i) code.symbols[n - 1 - i] = static_cast<std::uint8_t>(leaves[i].symbol);
  return code;
}

std::optional<HuffmanCode> canonical_code(std::span<const std::uint8_t, 256> lengths) {
  HuffmanCode code;
  std::array<std::uint16_t, 256> counts{};  // one more than a byte holds
  for (const std::uint8_t length : lengths) ++counts[length];
  std::uint32_t left = 1;  // codes that are free, of the length at hand
  std::size_t next = 0;
  for (std::size_t length = 1; length <= kMaxLength; ++length) {
    left <<= 1;
    if (counts[length] > left || counts[length] > 255) return std::nullopt;
    left -= counts[length];
    code.counts[length] = static_cast<std::uint8_t>(counts[length]);
    for (unsigned symbol = 0; symbol < 256; ++symbol) {
      if (lengths[symbol] == length) code.symbols[next++] = static_cast<std::uint8_t>(symbol);
    }
  }
  code.num_symbols = static_cast<int>(next);
  return counts[0] + next == 256 ? std::optional(code) : std::nullopt;  // else some are longer
}

void assign_codewords(const HuffmanCode& code, std::span<Codeword, 256> words) {
  std::uint32_t next = 0;
  std::size_t i = 0;
  for (std::uint8_t length = 1; length <= kMaxLength; ++length) {
    for (int n = 0; n < code.counts[length]; ++n) {
      words[code.symbols[i++]] = {static_cast<std::uint16_t>(next++), length};
    }
    next <<= 1;
  }
}

}  // namespace halfbyte::jpeg
