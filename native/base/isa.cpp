#include "base/isa.hpp"

#include <array>
#include <atomic>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace halfbyte {
namespace {

constexpr std::array<std::string_view, 3> kNames = {"portable", "avx2", "avx512"};
constexpr std::array<Isa, 3> kAll = {Isa::portable, Isa::avx2, Isa::avx512};

#if defined(__x86_64__)
// Conversion between float16 and float32, which __builtin_cpu_supports does not know in all compilers.
bool has_f16c() {
  unsigned eax, ebx, ecx, edx;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}

bool has_avx2() {
  return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2") &&
         has_f16c();
}

// VBMI2 (Ice Lake, Zen 4 and later) brings compressing and expanding bytes, which zero-value coding rests on.
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
         __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vbmi2");
}
#else
bool has_avx2() { return false; }
bool has_avx512() { return false; }
#endif

Isa best() { return has_avx512() ? Isa::avx512 : has_avx2() ? Isa::avx2 : Isa::portable; }

std::atomic<Isa>& chosen() {
  static std::atomic<Isa> isa{best()};
  return isa;
}

}  // namespace

std::string_view name_of(Isa isa) { return kNames[static_cast<std::size_t>(isa)]; }

std::optional<Isa> isa_named(std::string_view name) {
  for (const Isa isa : kAll) {
    if (name_of(isa) == name) return isa;
  }
  return std::nullopt;
}

std::span<const Isa> available_isas() {
  static const std::size_t count = static_cast<std::size_t>(best()) + 1;
  return std::span(kAll).first(count);
}

Isa current_isa() { return chosen().load(std::memory_order_relaxed); }

void set_isa(Isa isa) { chosen().store(isa, std::memory_order_relaxed); }

}  // namespace halfbyte
