#include <algorithm>
#include <bit>

#if defined(__BMI2__)
#include <immintrin.h>
#endif

#include "jpeg/ac_table.hpp"
#include "jpeg/coded_bits.hpp"
#include "jpeg/scan_reader.hpp"

namespace halfbyte::jpeg::HALFBYTE_ISA {
namespace {

// The members of a set for which the bits, from the lowest on, are 1.
inline std::uint64_t deal(std::uint64_t bits, std::uint64_t set) {
#if defined(__BMI2__)
  return _pdep_u64(bits, set);
#else
  std::uint64_t dealt = 0;
  for (; bits != 0; bits >>= 1, set &= set - 1) dealt |= (bits & 1) != 0 ? set & -set : 0;
  return dealt;
#endif
}

// The member after `before` others, as a set; none where there are not so many.
inline std::uint64_t member(std::uint64_t set, unsigned before) {
#if defined(__BMI2__)
  return _pdep_u64(std::uint64_t{1} << before, set);
#else
  for (; before > 0; --before) set &= set - 1;
  return set & -set;
#endif
}

// Coefficients [begin, 64) of the zigzag sequence; none for 64.
constexpr std::uint64_t from(unsigned begin) { return begin < 64 ? ~std::uint64_t{0} << begin : 0; }

class AcScan {
 public:
  AcScan(const LaterScan& scan, const LaterScans& later, ScanPlane& plane)
      : spec_(scan.spec),
        band_(from(scan.spec.ss) & ~from(scan.spec.se + 1U)),
        bits_(Bytes(later.bits).subspan(scan.begin, scan.end - scan.begin)),
        plane_(plane) {}

  bool run(AcTable& table, const HuffmanCode& code) {
    if (!table.build(code, spec_.al, spec_.ah != 0)) return false;
    return (spec_.ah == 0 ? first(table) : refine(table)) && ended_ == 0 && bits_.at_end();
  }

 private:
  bool first(const AcTable& table);
  bool first_block(const AcTable& table, Block& block, std::uint64_t& known);
  bool refine(const AcTable& table);
  bool refine_block(const AcTable& table, Block& block, std::uint64_t& known);
  std::uint64_t corrected(std::uint64_t which);
  void end_blocks(unsigned run) {
    bits_.refill();
    ended_ = (1U << run) + bits_.take_number(run);
  }

  const ScanSpec spec_;
  const std::uint64_t band_;
  CodedBits bits_;
  ScanPlane& plane_;
  std::uint32_t ended_ = 0;  // blocks from this one on that have nothing new
};

bool AcScan::first(const AcTable& table) {
  std::uint64_t* known = plane_.known.data();
  for (std::uint32_t row = 0; row < plane_.rows; ++row, known += plane_.columns) {
    Block* blocks = plane_.block_rows[row];
    std::uint32_t column = 0;
    while (true) {
      const std::uint32_t skipped = std::min(ended_, plane_.columns - column);
      ended_ -= skipped;
      column += skipped;
      if (column == plane_.columns) break;
      if (!first_block(table, blocks[column], known[column]) || bits_.overrun()) return false;
      if (ended_ == 0) ++column;  // else this block is the first of those
    }
  }
  return true;
}

bool AcScan::first_block(const AcTable& table, Block& block, std::uint64_t& known) {
  const unsigned last = spec_.se;
  CodedBits bits = bits_;
  std::uint64_t found = 0;
  for (unsigned k = spec_.ss; k <= last; ++k) {
    if (bits.count() < AcTable::kMostLooked) bits.refill();
    const AcSymbol symbol = table.look(bits.ahead());
    bits.skip(symbol.length());
    k += symbol.run();
    if (symbol.kind() == AcSymbol::value) [[likely]] {
      if (k > last) return false;
      block[kNaturalOrder[k]] = symbol.coefficient();
      found |= std::uint64_t{1} << k;
    } else if (symbol.kind() != AcSymbol::zeros) {
      if (symbol.kind() == AcSymbol::damaged) return false;
      bits_ = bits;
      end_blocks(symbol.run());
      known |= found;
      return true;
    }
  }
  bits_ = bits;
  known |= found;
  return true;
}

bool AcScan::refine(const AcTable& table) {
  std::uint64_t* known = plane_.known.data();
  for (std::uint32_t row = 0; row < plane_.rows; ++row, known += plane_.columns) {
    Block* blocks = plane_.block_rows[row];
    for (std::uint32_t column = 0; column < plane_.columns; ++column) {
      if (!refine_block(table, blocks[column], known[column]) || bits_.overrun()) return false;
    }
  }
  return true;
}

bool AcScan::refine_block(const AcTable& table, Block& block, std::uint64_t& known) {
  const std::uint64_t old = known & band_;
  std::uint64_t left = band_;  // what is still to come of the band
  std::uint64_t grown = 0;
  while (ended_ == 0 && left != 0) {
    if (bits_.count() < AcTable::kMostLooked) bits_.refill();
    const AcSymbol symbol = table.look(bits_.ahead());
    bits_.skip(symbol.length());
    if (symbol.kind() == AcSymbol::end) {
      end_blocks(symbol.run());
      break;
    }
    if (symbol.kind() == AcSymbol::damaged) return false;
    const std::uint64_t zero = member(left & ~old, symbol.run());
    if (zero == 0) return false;
    grown |= corrected(old & left & (zero - 1));
    left &= -zero << 1;
    if (symbol.kind() == AcSymbol::value) {
      block[kNaturalOrder[static_cast<std::size_t>(std::countr_zero(zero))]] = symbol.coefficient();
      known |= zero;
    }
  }
  if (ended_ != 0) {
    grown |= corrected(old & left);
    --ended_;
  }
  for (; grown != 0; grown &= grown - 1) {
    std::int16_t& value = block[kNaturalOrder[static_cast<std::size_t>(std::countr_zero(grown))]];
    const int sign = value >> 15 | 1;
    value = static_cast<std::int16_t>(value + sign * (1 << spec_.al));
  }
  return true;
}

// Those of these coefficients whose magnitude grows: one bit for each.
std::uint64_t AcScan::corrected(std::uint64_t which) {
  auto count = static_cast<unsigned>(std::popcount(which));
  if (count > bits_.count()) {
    bits_.refill();
    if (count > 56) {
      const std::uint64_t first = deal(bits_.take(32), which);
      for (int n = 0; n < 32; ++n) which &= which - 1;
      count -= 32;
      bits_.refill();
      return first | deal(bits_.take(count), which);
    }
  }
  return deal(bits_.take(count), which);
}

class DcRefinement {
 public:
  DcRefinement(const LaterScan& scan, const LaterScans& later, std::vector<ScanPlane>& planes)
      : spec_(scan.spec), bits_(Bytes(later.bits).subspan(scan.begin, scan.end - scan.begin)), planes_(planes) {}

  bool run() {
    if (spec_.count == 1) {
      const ScanPlane& plane = planes_[spec_.components[0]];
      for (std::uint32_t row = 0; row < plane.rows; ++row) {
        if (!blocks(plane, row, 0, plane.columns)) return false;
      }
    } else if (!units()) {
      return false;
    }
    return bits_.at_end();
  }

 private:
  // Interleaved units, as many as the largest component has; all others have as many (T.81, A.2.3 and A.2.4).
  bool units() {
    std::uint32_t across = 0, down = 0;
    for (const ScanPlane& plane : planes_) {
      across = std::max(across, (plane.columns + plane.h - 1) / plane.h);
      down = std::max(down, (plane.rows + plane.v - 1) / plane.v);
    }
    for (std::uint32_t y = 0; y < down; ++y) {
      for (std::uint32_t x = 0; x < across; ++x) {
        for (unsigned i = 0; i < spec_.count; ++i) {
          const ScanPlane& plane = planes_[spec_.components[i]];
          for (std::uint32_t row = 0; row < plane.v; ++row) {
            if (!blocks(plane, y * plane.v + row, x * plane.h, plane.h)) return false;
          }
        }
      }
    }
    return true;
  }

  bool blocks(const ScanPlane& plane, std::uint32_t row, std::uint32_t column, std::uint32_t count) {
    for (Block* block = plane.block_rows[row] + column; count > 0; --count, ++block) {
      std::int16_t& dc = (*block)[0];
      bits_.refill();
      dc = static_cast<std::int16_t>(dc | static_cast<int>(bits_.take(1)) << spec_.al);
      if (bits_.overrun()) return false;
    }
    return true;
  }

  ScanSpec spec_;
  CodedBits bits_;
  const std::vector<ScanPlane>& planes_;
};

bool read(const LaterScans& later, std::vector<ScanPlane>& planes) {
  AcTable table;
  for (const LaterScan& scan : later.scans) {
    const bool sound = scan.spec.ss == 0
                           ? DcRefinement(scan, later, planes).run()
                           : AcScan(scan, later, planes[scan.spec.components[0]]).run(table, later.codes[scan.code]);
    if (!sound) return false;
  }
  return true;
}

}  // namespace

const ScanKernels scan_kernels = {.read = read};

}  // namespace halfbyte::jpeg::HALFBYTE_ISA
