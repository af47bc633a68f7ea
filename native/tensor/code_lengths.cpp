#include "tensor/code_lengths.hpp"

#include <algorithm>
#include <cstddef>

namespace halfbyte::tensor {
namespace {

constexpr std::uint64_t kHeaviest = ~std::uint64_t{0};

struct Leaf {
  std::uint32_t count;
  std::uint8_t byte;
};

// One level of package-merge: leaves and pairs of the level before, lightest first.
struct Level {
  std::array<std::uint64_t, 512> weights;
  std::array<bool, 512> is_leaf;
  std::size_t size;
};

// `leaves` end in one that is heavier than all. Which comes next is hard to foresee, so that it is no branch.
void merge(const std::uint64_t* leaves, std::size_t num_leaves, const Level* before, Level& level) {
  const std::size_t pairs = before == nullptr ? 0 : before->size / 2;
  level.size = num_leaves + pairs;
  std::size_t leaf = 0, pair = 0;
  for (std::size_t i = 0; i < level.size; ++i) {
    const std::uint64_t single = leaves[leaf];
    const std::uint64_t both = pair < pairs ? before->weights[2 * pair] + before->weights[2 * pair + 1] : kHeaviest;
    const bool is_leaf = single <= both;
    level.weights[i] = is_leaf ? single : both;
    level.is_leaf[i] = is_leaf;
    leaf += is_leaf;
    pair += !is_leaf;
  }
}

}  // namespace

CodeLengths best_lengths(const ByteCounts& counts, unsigned most_bits) {
  std::array<Leaf, 256> all;
  std::size_t n = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (counts[byte] != 0) all[n++] = {counts[byte], static_cast<std::uint8_t>(byte)};
  }
  const std::span<Leaf> leaves(all.data(), n);
  std::sort(leaves.begin(), leaves.end(), [](const Leaf& a, const Leaf& b) {
    return a.count != b.count ? a.count < b.count : a.byte > b.byte;
  });
  std::array<std::uint64_t, 257> weights;
  std::transform(leaves.begin(), leaves.end(), weights.begin(), [](const Leaf& leaf) { return leaf.count; });
  weights[n] = kHeaviest;
  std::array<Level, kMostCodeBits> levels;
  for (unsigned i = 0; i < most_bits; ++i) merge(weights.data(), n, i == 0 ? nullptr : &levels[i - 1], levels[i]);
  // Of the last level all but two items are bought; each leaf among what is bought makes its word a bit longer.
  CodeLengths lengths{};
  std::size_t bought = 2 * n - 2;
  for (unsigned i = most_bits; i-- > 0;) {
    const auto end = levels[i].is_leaf.begin() + static_cast<std::ptrdiff_t>(bought);
    const auto own = static_cast<std::size_t>(std::count(levels[i].is_leaf.begin(), end, true));
    for (std::size_t leaf = 0; leaf < own; ++leaf) ++lengths[leaves[leaf].byte];
    bought = 2 * (bought - own);
  }
  return lengths;
}

bool is_complete(const CodeLengths& lengths) {
  std::uint32_t used = 0;
  for (const std::uint8_t length : lengths) {
    if (length > kMostCodeBits) return false;
    if (length != 0) used += 1U << (kMostCodeBits - length);
  }
  return used == 1U << kMostCodeBits;
}

std::array<CodeWord, 256> code_words(const CodeLengths& lengths) {
  std::array<std::uint16_t, kMostCodeBits + 2> next{};
  for (const std::uint8_t length : lengths) next[length + 1U] += length != 0;
  for (unsigned length = 2; length <= kMostCodeBits; ++length) {
    next[length] = static_cast<std::uint16_t>((next[length - 1] + next[length]) << 1);
  }
  std::array<CodeWord, 256> words{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (lengths[byte] != 0) words[byte] = {next[lengths[byte]]++, lengths[byte]};
  }
  return words;
}

void fill_table(const CodeLengths& lengths, CodeTable& table) {
  const std::array<CodeWord, 256> words = code_words(lengths);
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (lengths[byte] == 0) continue;
    const unsigned rest = kMostCodeBits - lengths[byte];
    std::fill_n(table.begin() + (words[byte].bits << rest), 1 << rest,
                CodeEntry{static_cast<std::uint8_t>(byte), lengths[byte]});
  }
}

}  // namespace halfbyte::tensor
