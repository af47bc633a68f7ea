#include "jpeg/scan_coder.hpp"

#include <bit>

namespace halfbyte::jpeg {
namespace {

constexpr std::uint32_t kZeroRun = 0xF0;        // sixteen zeros
constexpr std::uint32_t kLongestRun = 0x7FFF;   // of ended blocks: 14 extra bits, table G.1
constexpr std::uint32_t kMaxDcBits = 11;        // table F.1, 8-bit samples

// The bits with positions ss..se.
constexpr std::uint64_t band(int ss, int se) { return (~std::uint64_t{0} >> (63 - se)) & (~std::uint64_t{0} << ss); }

// A value's size in bits, and its bits in JPEG's form: negative values less one (T.81, F.1.2.1).
struct Magnitude {
  std::uint32_t size, bits;
};

// `value` divided by 2^al towards zero, as G.1.2.1 wants for AC coefficients.
Magnitude magnitude(int value, int al) {
  const int sign = value >> 31;
  const auto absolute = static_cast<std::uint32_t>((value ^ sign) - sign) >> al;
  const auto size = static_cast<std::uint32_t>(std::bit_width(absolute));
  return {size, (absolute ^ static_cast<std::uint32_t>(sign)) & ((1U << size) - 1)};
}

// Correction bits of coefficients, in zigzag order.
struct Corrections {
  std::uint64_t bits;
  std::uint32_t count;
};

Corrections corrections_of(std::uint64_t known, std::uint64_t with_bit) {
  Corrections all{0, 0};
  for (; known != 0; known &= known - 1, ++all.count) {
    all.bits = all.bits << 1 | (with_bit >> std::countr_zero(known) & 1);
  }
  return all;
}

// The position after the sixteenth coefficient from `next` on that is not known.
int after_zeros(std::uint64_t known, int next) {
  for (int zeros = 0; zeros < 16; ++next) zeros += (known >> next & 1) == 0 ? 1 : 0;
  return next;
}

}  // namespace

template <class Sink>
void ScanCoder<Sink>::run() {
  const bool first = spec_.ah == 0;
  if (spec_.ss == 0) {
    if (first) dc_first();
    if (!first) dc_refine();
  } else {
    if (first) ac_first();
    if (!first) ac_refine();
    end_band();
  }
}

// Calls visit(index in the scan, DC) for every block in coding order. Blocks that only fill up an interleaved unit
// repeat the DC before them, which costs least.
template <class Sink>
template <class Visit>
void ScanCoder<Sink>::visit_dc(Visit visit) {
  if (spec_.count == 1) {  // not interleaved: just the blocks of the plane, row by row
    const Plane& plane = image_.planes[spec_.components[0]];
    for (std::size_t row = 0; row < plane.rows; ++row) {
      for (std::size_t column = 0; column < plane.columns; ++column) visit(0U, plane.block(row, column)[0]);
    }
    return;
  }
  std::array<int, 4> last{};
  const auto visit_unit = [&](std::size_t unit_row, std::size_t unit_column) {
    for (std::uint32_t i = 0; i < spec_.count; ++i) {
      const Plane& plane = image_.planes[spec_.components[i]];
      for (std::size_t row = unit_row * plane.v; row < (unit_row + 1) * plane.v; ++row) {
        for (std::size_t column = unit_column * plane.h; column < (unit_column + 1) * plane.h; ++column) {
          if (row < plane.rows && column < plane.columns) last[i] = plane.block(row, column)[0];
          visit(i, last[i]);
        }
      }
    }
  };
  for (std::size_t row = 0; row < image_.unit_rows; ++row) {
    for (std::size_t column = 0; column < image_.unit_columns; ++column) visit_unit(row, column);
  }
}

template <class Sink>
void ScanCoder<Sink>::dc_first() {
  std::array<int, 4> last{};
  visit_dc([&](std::uint32_t i, int dc) {
    const int value = dc >> spec_.al;
    const Magnitude difference = magnitude(value - last[i], 0);
    last[i] = value;
    out_of_range_ |= difference.size > kMaxDcBits;
    const std::uint32_t table = image_.dc_tables[spec_.components[i]];
    sink_.put(table * 256 + difference.size, difference.bits & 0xFFFF, difference.size & 15);
  });
}

template <class Sink>
void ScanCoder<Sink>::dc_refine() {
  visit_dc([&](std::uint32_t, int dc) { sink_.put(kRaw, static_cast<std::uint32_t>(dc >> spec_.al) & 1, 1); });
}

template <class Sink>
void ScanCoder<Sink>::ac_first() {
  const Plane& plane = image_.planes[spec_.components[0]];
  const std::uint64_t* significant = image_.significance[spec_.components[0]].significant(spec_.al).data();
  const std::uint64_t in_band = band(spec_.ss, spec_.se);
  for (std::size_t row = 0; row < plane.rows; ++row) {
    for (std::size_t column = 0; column < plane.columns; ++column) {
      const std::uint64_t now = *significant++ & in_band;
      if (now != 0) {
        end_band();
        first_block(plane.block(row, column), now);
      }
      if ((now >> spec_.se & 1) == 0) end_block();
    }
  }
}

template <class Sink>
void ScanCoder<Sink>::first_block(const Block& block, std::uint64_t now) {
  int next = spec_.ss;
  for (; now != 0; now &= now - 1) {
    const int k = std::countr_zero(now);
    auto zeros = static_cast<std::uint32_t>(k - next);
    next = k + 1;
    for (; zeros > 15; zeros -= 16) sink_.put(kZeroRun, 0, 0);
    const Magnitude value = magnitude(block[kNaturalOrder[static_cast<std::size_t>(k)]], spec_.al);
    sink_.put(zeros << 4 | (value.size & 15), value.bits & 0xFFFF, value.size & 15);
  }
}

template <class Sink>
void ScanCoder<Sink>::ac_refine() {
  const Plane& plane = image_.planes[spec_.components[0]];
  const Significance& significance = image_.significance[spec_.components[0]];
  const std::uint64_t* before = significance.significant(spec_.ah).data();
  const std::uint64_t* now = significance.significant(spec_.al).data();
  const std::uint64_t* with_bit = significance.with_bit(spec_.al).data();
  const std::uint64_t in_band = band(spec_.ss, spec_.se);
  for (std::size_t row = 0; row < plane.rows; ++row) {
    for (std::size_t column = 0; column < plane.columns; ++column, ++before, ++now, ++with_bit) {
      const std::uint64_t known = *before & in_band, fresh = *now & in_band & ~known;
      if (fresh == 0) {
        defer_corrections(known, *with_bit);
        end_block();
        continue;
      }
      end_band();
      refine_block(plane.block(row, column), known, fresh, *with_bit);
      if ((fresh >> spec_.se & 1) == 0) end_block();
    }
  }
}

// New coefficients come with their sign and the number of zeros in front of them; the correction bits of known ones
// follow the symbol whose zeros they stand among (T.81, G.1.2.3).
template <class Sink>
void ScanCoder<Sink>::refine_block(const Block& block, std::uint64_t known, std::uint64_t fresh,
                                   std::uint64_t with_bit) {
  int next = spec_.ss;
  for (; fresh != 0; fresh &= fresh - 1) {
    const int k = std::countr_zero(fresh);
    Corrections corrections = corrections_of(known & band(next, k), with_bit);
    std::uint32_t zeros = static_cast<std::uint32_t>(k - next) - corrections.count;
    for (; zeros > 15; zeros -= 16) {
      next = after_zeros(known, next);
      const Corrections rest = corrections_of(known & band(next, k), with_bit);
      sink_.put(kZeroRun, 0, 0);
      put_bits(corrections.bits >> rest.count, corrections.count - rest.count);
      corrections = rest;
    }
    const bool negative = block[kNaturalOrder[static_cast<std::size_t>(k)]] < 0;
    sink_.put(zeros << 4 | 1, negative ? 0 : 1, 1);
    put_bits(corrections.bits, corrections.count);
    next = k + 1;
  }
  if (next <= spec_.se) defer_corrections(known & band(next, spec_.se), with_bit);
}

template <class Sink>
void ScanCoder<Sink>::end_block() {
  if (++end_run_ == kLongestRun) end_band();
}

// Tells the run of ended blocks, then their correction bits.
template <class Sink>
void ScanCoder<Sink>::end_band() {
  if (end_run_ == 0) return;
  const auto size = static_cast<std::uint32_t>(std::bit_width(end_run_)) - 1;
  sink_.put(size << 4, end_run_ & ((1U << size) - 1), size);
  end_run_ = 0;
  for (const std::uint16_t bits : deferred_) sink_.put(kRaw, bits, 16);
  if (partial_bits_ > 0) sink_.put(kRaw, partial_, partial_bits_);
  deferred_.clear();
  partial_ = partial_bits_ = 0;
}

// Puts the `count` low bits of `bits`, which holds no others.
template <class Sink>
void ScanCoder<Sink>::put_bits(std::uint64_t bits, std::uint32_t count) {
  for (; count > 16; count -= 16) sink_.put(kRaw, static_cast<std::uint32_t>(bits >> (count - 16)) & 0xFFFF, 16);
  if (count > 0) sink_.put(kRaw, static_cast<std::uint32_t>(bits) & ((1U << count) - 1), count);
}

// Keeps correction bits for after the next run of ended blocks.
template <class Sink>
void ScanCoder<Sink>::defer_corrections(std::uint64_t known, std::uint64_t with_bit) {
  for (; known != 0; known &= known - 1) {
    partial_ = partial_ << 1 | static_cast<std::uint32_t>(with_bit >> std::countr_zero(known) & 1);
    if (++partial_bits_ == 16) {
      deferred_.push_back(static_cast<std::uint16_t>(partial_));
      partial_ = partial_bits_ = 0;
    }
  }
}

template class ScanCoder<SymbolList>;
template class ScanCoder<SymbolWriter>;

}  // namespace halfbyte::jpeg
