// Pages of memory that is new: the first touch of each costs more than the kernels do that fill it (on Linux, a fault of
// about a microsecond for 4 KiB, against 2 MiB at once where the system may use huge pages).
#pragma once

#include <cstddef>

namespace halfbyte::tensor {

// Asks for huge pages in [start, start + bytes), as far as they lie wholly inside. A hint: nothing but speed depends on
// it, and where the system has none it does nothing.
void advise_huge_pages(void* start, std::size_t bytes) noexcept;

}  // namespace halfbyte::tensor
