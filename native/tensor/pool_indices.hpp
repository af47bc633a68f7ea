// Where a pool found its maxima. An index into the input's plane is the place of the window, the same for all images
// and channels, plus a place within the window, of which a window of 3x3 has 9: one index for each place of the window,
// and four bits for each element.
#pragma once

#include <cstddef>
#include <cstdint>

namespace halfbyte::tensor {

// Elements in memory order: window (i / repeat) % windows for element i. Maps that lie channel by channel repeat once,
// maps that lie pixel by pixel as often as there are channels.
struct PoolShape {
  std::size_t count;
  std::size_t windows;
  std::size_t repeat;
};

constexpr std::size_t kMostPlaces = 16;
constexpr std::int64_t kFarthestPlace = 4095;  // from the least index of the window

// What every index is made of, beside its code.
struct PoolParts {
  std::int64_t* bases;  // of each window: the least index
  std::int64_t* places;  // kMostPlaces: distances from it, ascending; zeros after the last
  std::uint8_t* codes;  // two in a byte, the first one in the lower half; 0 after the last
};

// False, and nothing of use is written, where there are more places than codes, or one that is too far.
bool encode_pool_indices(const std::int64_t* x, PoolShape shape, const PoolParts& parts, int num_threads);

// Any bytes will do: a code is one of 16, whatever it says.
void decode_pool_indices(const PoolParts& parts, PoolShape shape, std::int64_t* x, int num_threads);

}  // namespace halfbyte::tensor
