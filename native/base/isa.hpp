// Instruction sets: every kernel is compiled for each of them, and one is chosen while the program runs.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace halfbyte {

enum class Isa : int { portable = 0, avx2, avx512 };

std::string_view name_of(Isa isa);
std::optional<Isa> isa_named(std::string_view name);

// What this processor runs, plainest first.
std::span<const Isa> available_isas();

// The one in use: the best available unless a test or a benchmark set another.
Isa current_isa();
void set_isa(Isa isa);  // one of available_isas()

}  // namespace halfbyte

// A family of kernels is a struct of function pointers `Kernels`, of which every instruction set defines one constant
// `name` (a file *_kernel.cpp is compiled once for each, with HALFBYTE_ISA as its namespace).
#if defined(__x86_64__)
#define HALFBYTE_DECLARE_KERNELS(Kernels, name)      \
  namespace portable { extern const Kernels name; }  \
  namespace avx2 { extern const Kernels name; }      \
  namespace avx512 { extern const Kernels name; }    \
  inline const Kernels& name() {                     \
    switch (current_isa()) {                         \
      case Isa::avx512: return avx512::name;         \
      case Isa::avx2: return avx2::name;             \
      default: return portable::name;                \
    }                                                \
  }
#else
#define HALFBYTE_DECLARE_KERNELS(Kernels, name)      \
  namespace portable { extern const Kernels name; }  \
  inline const Kernels& name() { return portable::name; }
#endif
