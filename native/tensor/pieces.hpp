// A tensor cut into pieces of a fixed number of elements, so that no result depends on the number of threads.
#pragma once

#include <algorithm>
#include <cstddef>

#include "tensor/parallel.hpp"

namespace halfbyte::tensor {

constexpr std::size_t kPiece = 1 << 16;  // elements; a multiple of 64, so that pieces share no byte of a mask

constexpr std::size_t num_pieces(std::size_t count) { return (count + kPiece - 1) / kPiece; }

// work(first, length) for every piece of `count` elements, on up to num_threads threads.
template <class Work>
void for_pieces(std::size_t count, int num_threads, const Work& work) {
  parallel_for(num_threads, num_pieces(count), [&](std::size_t piece) {
    const std::size_t first = piece * kPiece;
    work(first, std::min(kPiece, count - first));
  });
}

}  // namespace halfbyte::tensor
