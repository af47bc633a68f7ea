// Scratch for encoders that learn the size of their result only while they write it: they write into worst-case room
// here, and the caller copies what came out into a tensor of exactly that size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halfbyte::tensor {

// At least this many bytes, aligned to 64 and not initialised, for the calling thread: the same memory at every call,
// and only ever more of it, so what an earlier call returned is void. Null when memory is short.
std::uint8_t* workspace(std::size_t bytes) noexcept;

// Gives the calling thread's back; so does the end of the thread.
void release_workspace() noexcept;

}  // namespace halfbyte::tensor
