// From coefficients to the symbols of one progressive scan (T.81, Annex G).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "jpeg/coefficients.hpp"
#include "jpeg/significance.hpp"
#include "jpeg/symbols.hpp"

namespace halfbyte::jpeg {

// What the scans of one image share.
struct ScanImage {
  std::span<const Plane> planes;
  std::span<const Significance> significance;  // one a plane
  std::uint32_t unit_columns = 0, unit_rows = 0;  // interleaved units across and down
  std::array<std::uint8_t, 4> dc_tables{};        // which of the two tables a component's DC symbols use
};

// Runs over all blocks and puts symbols into a sink: SymbolList or SymbolWriter.
template <class Sink>
class ScanCoder {
 public:
  ScanCoder(const ScanImage& image, const ScanSpec& spec, Sink& sink) : image_(image), spec_(spec), sink_(sink) {}

  void run();
  [[nodiscard]] bool out_of_range() const { return out_of_range_; }

 private:
  template <class Visit>
  void visit_dc(Visit visit);
  void dc_first();
  void dc_refine();
  void ac_first();
  void ac_refine();
  void first_block(const Block& block, std::uint64_t now);
  void refine_block(const Block& block, std::uint64_t known, std::uint64_t fresh, std::uint64_t with_bit);
  void end_block();
  void end_band();
  void put_bits(std::uint64_t bits, std::uint32_t count);
  void defer_corrections(std::uint64_t known, std::uint64_t with_bit);

  const ScanImage& image_;
  const ScanSpec& spec_;
  Sink& sink_;
  bool out_of_range_ = false;

  std::uint32_t end_run_ = 0;            // blocks that ended early, not yet told
  std::vector<std::uint16_t> deferred_;  // their correction bits, sixteen at a time ...
  std::uint32_t partial_ = 0;            // ... and the rest
  std::uint32_t partial_bits_ = 0;
};

extern template class ScanCoder<SymbolList>;
extern template class ScanCoder<SymbolWriter>;

}  // namespace halfbyte::jpeg
