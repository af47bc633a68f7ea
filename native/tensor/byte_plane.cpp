#include "tensor/byte_plane.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <numeric>

namespace halfbyte::tensor {
namespace {

enum Form : std::uint8_t { kRaw, kConstant, kHuffman, kZeros };

constexpr std::size_t kStreams = 4;
constexpr std::size_t kSlack = 64;
constexpr std::size_t kLeastWithZeros = 64;

constexpr std::size_t mask_size(std::size_t count) { return (count + 7) / 8; }

// Room for bytes, and for the mask of as many.
struct Stripped {
  std::unique_ptr<std::uint8_t[]> memory;
  std::uint8_t* kept;
  std::uint8_t* mask;

  explicit Stripped(std::size_t count)
      : memory(std::make_unique_for_overwrite<std::uint8_t[]>(count + mask_size(count) + 2 * kSlack)),
        kept(memory.get()),
        mask(kept + count + kSlack) {}
};

std::uint8_t* put_lengths(const CodeLengths& lengths, std::uint8_t* out) {
  std::size_t greatest = 255;
  while (lengths[greatest] == 0) --greatest;
  *out++ = static_cast<std::uint8_t>(greatest);
  for (std::size_t byte = 0; byte <= greatest; byte += 2) {
    *out++ = static_cast<std::uint8_t>(lengths[byte] | (byte < greatest ? lengths[byte + 1] << 4 : 0));
  }
  return out;
}

std::uint8_t* put_words(ByteView bytes, const CodeLengths& lengths, std::uint8_t* out) {
  const auto write = byte_plane_kernels().write;
  const std::array<CodeWord, 256> words = code_words(lengths);
  const Streams streams(bytes.size());
  std::uint8_t* const sizes = put_lengths(lengths, out);
  out = sizes + 2 * kStreams;
  for (std::size_t i = 0; i < kStreams; ++i) {
    std::uint8_t* const end =
        write(bytes.data() + streams.first[i], streams.first[i + 1] - streams.first[i], words.data(), out);
    const auto size = static_cast<std::size_t>(end - out);
    sizes[2 * i] = static_cast<std::uint8_t>(size);
    sizes[2 * i + 1] = static_cast<std::uint8_t>(size >> 8);
    out = end;
  }
  return out;
}

// In one of the other forms.
std::uint8_t* encode_plainly(ByteView bytes, std::uint8_t* out) {
  ByteCounts counts{};
  byte_plane_kernels().count_bytes(bytes.data(), bytes.size(), counts.data());
  if (std::count(counts.begin(), counts.end(), 0U) == 255) {
    out[0] = kConstant;
    out[1] = bytes[0];
    return out + 2;
  }
  std::size_t bits = 0;
  if (!bytes.empty()) {
    const CodeLengths lengths = best_lengths(counts);
    for (std::size_t byte = 0; byte < 256; ++byte) bits += std::size_t{counts[byte]} * lengths[byte];
    std::uint8_t book[129];
    const auto header = static_cast<std::size_t>(put_lengths(lengths, book) - book) + 2 * kStreams + kStreams;
    if (header + bits / 8 < bytes.size()) {
      *out = kHuffman;
      return put_words(bytes, lengths, out + 1);
    }
  }
  *out++ = kRaw;
  return std::copy(bytes.begin(), bytes.end(), out);
}

const std::uint8_t* take(ByteView& in, std::size_t size) {
  const std::uint8_t* const begin = in.data();
  in = in.subspan(size);
  return begin;
}

bool take_lengths(ByteView& in, CodeLengths& lengths) {
  if (in.empty()) return false;
  const std::size_t greatest = *take(in, 1);
  if (in.size() < greatest / 2 + 1) return false;
  const std::uint8_t* const pairs = take(in, greatest / 2 + 1);
  lengths.fill(0);
  for (std::size_t byte = 0; byte <= greatest; ++byte) {
    lengths[byte] = static_cast<std::uint8_t>(byte % 2 == 0 ? pairs[byte / 2] & 15 : pairs[byte / 2] >> 4);
  }
  return is_complete(lengths);
}

bool decode_words(ByteView& in, std::uint8_t* bytes, std::size_t count) {
  CodeLengths lengths;
  if (!take_lengths(in, lengths) || in.size() < 2 * kStreams) return false;
  const std::uint8_t* const header = take(in, 2 * kStreams);
  std::array<std::size_t, kStreams> sizes;
  for (std::size_t i = 0; i < kStreams; ++i) sizes[i] = header[2 * i] | std::size_t{header[2 * i + 1]} << 8;
  const std::size_t size = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  if (in.size() < size) return false;
  CodeTable table;
  fill_table(lengths, table);
  return byte_plane_kernels().read(take(in, size), sizes.data(), table.data(), count, bytes);
}

bool decode_plainly(std::uint8_t form, ByteView& in, std::uint8_t* bytes, std::size_t count) {
  if (form == kHuffman) return decode_words(in, bytes, count);
  const std::size_t size = form == kRaw ? count : 1;
  if (form > kConstant || in.size() < size) return false;
  const std::uint8_t* const from = take(in, size);
  form == kRaw ? std::copy_n(from, count, bytes) : std::fill_n(bytes, count, *from);
  return true;
}

bool decode_zeros(ByteView& in, std::uint8_t* bytes, std::size_t count) {
  const Stripped parts(count);
  if (!decode_plane(in, parts.mask, mask_size(count))) return false;
  if (count % 8 != 0 && parts.mask[count / 8] >> count % 8 != 0) return false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < mask_size(count); ++i) kept += static_cast<std::size_t>(std::popcount(parts.mask[i]));
  // What is kept has no zeros to be taken out; a mask is an eighth of its plane, so that this ends.
  if (in.empty() || !decode_plainly(*take(in, 1), in, parts.kept, kept)) return false;
  byte_plane_kernels().fill(parts.mask, parts.kept, count, bytes);
  return true;
}

}  // namespace

std::uint8_t* encode_plane(ByteView bytes, std::uint8_t* out) {
  if (bytes.size() < kLeastWithZeros) return encode_plainly(bytes, out);
  const Stripped parts(bytes.size());
  const std::size_t kept = byte_plane_kernels().strip(bytes.data(), bytes.size(), parts.mask, parts.kept);
  if (kept == 0 || kept > bytes.size() / 8 * 5) return encode_plainly(bytes, out);
  *out = kZeros;
  out = encode_plane({parts.mask, mask_size(bytes.size())}, out + 1);
  return encode_plainly({parts.kept, kept}, out);
}

bool decode_plane(ByteView& in, std::uint8_t* bytes, std::size_t count) {
  if (in.empty()) return false;
  const std::uint8_t form = *take(in, 1);
  if (form == kZeros) return count >= kLeastWithZeros && decode_zeros(in, bytes, count);
  return decode_plainly(form, in, bytes, count);
}

}  // namespace halfbyte::tensor
