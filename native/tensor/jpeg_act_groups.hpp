// The tiles of as many channels as there are lanes: each lane has the codes of its channel. For kernel files only.
//
//   pack_row(s, row, codes)     eight vectors of quotients, one a column, truncated and saturated to a row of codes
//   unpack_row(codes, row, s)   the reverse
//   to_channels(codes)          what pack_row filled, to 64 codes a channel in row-major order, which by_channel gives
//   to_lanes(codes)             the reverse, of what set_channel set
#pragma once

#include "tensor/jpeg_act_codes.hpp"
#include "tensor/jpeg_act_math.hpp"

namespace halfbyte::tensor::HALFBYTE_ISA {
namespace {

#if defined(__AVX512F__)

// Vector i holds four codes a channel, the i-th four of its tile; after to_channels, it holds the tile of channel i.
struct GroupCodes {
  __m512i four[16];
};

inline __m512i four_of_each(const Lanes* s) {
  const auto two = [](const Lanes* pair) {
    return _mm512_packs_epi32(_mm512_cvttps_epi32(pair[0]), _mm512_cvttps_epi32(pair[1]));
  };
  const __m128i by_channel = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm512_shuffle_epi8(_mm512_packs_epi16(two(s), two(s + 2)), _mm512_broadcast_i32x4(by_channel));
}

inline void pack_row(const Lanes* s, int row, GroupCodes& codes) {
  codes.four[2 * row] = four_of_each(s);
  codes.four[2 * row + 1] = four_of_each(s + 4);
}

inline void unpack_row(const GroupCodes& codes, int row, Lanes* s) {
  for (int i = 0; i < 8; ++i) {
    const __m512i four = codes.four[2 * row + i / 4];
    s[i] = _mm512_cvtepi32_ps(_mm512_srai_epi32(_mm512_sllv_epi32(four, _mm512_set1_epi32(24 - i % 4 * 8)), 24));
  }
}

// 16 by 16 of four codes each. Its own inverse.
inline void to_channels(GroupCodes& codes) {
  __m512i* const r = codes.four;
  __m512i pairs[16], fours[16], eights[16];
  for (int i = 0; i < 16; i += 2) {
    pairs[i] = _mm512_unpacklo_epi32(r[i], r[i + 1]);
    pairs[i + 1] = _mm512_unpackhi_epi32(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int j = 0; j < 2; ++j) {
      fours[i + 2 * j] = _mm512_unpacklo_epi64(pairs[i + j], pairs[i + j + 2]);
      fours[i + 2 * j + 1] = _mm512_unpackhi_epi64(pairs[i + j], pairs[i + j + 2]);
    }
  }
  for (int i = 0; i < 16; i += 8) {
    for (int j = 0; j < 4; ++j) {
      eights[i + j] = _mm512_shuffle_i32x4(fours[i + j], fours[i + j + 4], 0x88);
      eights[i + j + 4] = _mm512_shuffle_i32x4(fours[i + j], fours[i + j + 4], 0xdd);
    }
  }
  for (int j = 0; j < 4; ++j) {
    r[j] = _mm512_shuffle_i32x4(eights[j], eights[j + 8], 0x88);
    r[j + 8] = _mm512_shuffle_i32x4(eights[j], eights[j + 8], 0xdd);
    r[j + 4] = _mm512_shuffle_i32x4(eights[j + 4], eights[j + 12], 0x88);
    r[j + 12] = _mm512_shuffle_i32x4(eights[j + 4], eights[j + 12], 0xdd);
  }
}

inline void to_lanes(GroupCodes& codes) { to_channels(codes); }

inline Codes by_channel(const GroupCodes& codes, std::size_t channel) { return codes.four[channel]; }
inline void set_channel(GroupCodes& codes, std::size_t channel, Codes tile) { codes.four[channel] = tile; }

#elif defined(__AVX2__)

// Row by row four codes a channel, the left ones and the right ones; after to_channels, both halves of each channel's
// tile.
struct GroupCodes {
  __m256i four[2][8];
};

inline __m256i four_of_each(const Lanes* s) {
  const auto two = [](const Lanes* pair) {
    return _mm256_packs_epi32(_mm256_cvttps_epi32(pair[0]), _mm256_cvttps_epi32(pair[1]));
  };
  const __m128i by_channel = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  return _mm256_shuffle_epi8(_mm256_packs_epi16(two(s), two(s + 2)), _mm256_broadcastsi128_si256(by_channel));
}

inline void pack_row(const Lanes* s, int row, GroupCodes& codes) {
  codes.four[row / 4][row % 4 * 2] = four_of_each(s);
  codes.four[row / 4][row % 4 * 2 + 1] = four_of_each(s + 4);
}

inline void unpack_row(const GroupCodes& codes, int row, Lanes* s) {
  for (int i = 0; i < 8; ++i) {
    const __m256i four = codes.four[row / 4][row % 4 * 2 + i / 4];
    s[i] = _mm256_cvtepi32_ps(_mm256_srai_epi32(_mm256_sllv_epi32(four, _mm256_set1_epi32(24 - i % 4 * 8)), 24));
  }
}

// Twice 8 by 8 of four codes each. Its own inverse.
inline void to_channels(GroupCodes& codes) {
  for (__m256i* const r : codes.four) {
    __m256i pairs[8], fours[8];
    for (int i = 0; i < 8; i += 2) {
      pairs[i] = _mm256_unpacklo_epi32(r[i], r[i + 1]);
      pairs[i + 1] = _mm256_unpackhi_epi32(r[i], r[i + 1]);
    }
    for (int i = 0; i < 8; i += 4) {
      for (int j = 0; j < 2; ++j) {
        fours[i + 2 * j] = _mm256_unpacklo_epi64(pairs[i + j], pairs[i + j + 2]);
        fours[i + 2 * j + 1] = _mm256_unpackhi_epi64(pairs[i + j], pairs[i + j + 2]);
      }
    }
    for (int j = 0; j < 4; ++j) {
      r[j] = _mm256_permute2x128_si256(fours[j], fours[j + 4], 0x20);
      r[j + 4] = _mm256_permute2x128_si256(fours[j], fours[j + 4], 0x31);
    }
  }
}

inline void to_lanes(GroupCodes& codes) { to_channels(codes); }

inline Codes by_channel(const GroupCodes& codes, std::size_t channel) {
  return {codes.four[0][channel], codes.four[1][channel]};
}
inline void set_channel(GroupCodes& codes, std::size_t channel, Codes tile) {
  codes.four[0][channel] = tile.low;
  codes.four[1][channel] = tile.high;
}

#else

// First a vector of codes for each coefficient, then for each channel its tile.
struct GroupCodes {
  std::int8_t lanes[64][kLanes];
  Codes channel[kLanes];
};

inline void pack_row(const Lanes* s, int row, GroupCodes& codes) {
  for (int i = 0; i < 8; ++i) {
    float lanes[kLanes];
    store(lanes, clipped(s[i], -128, 127));
    for (std::size_t c = 0; c < kLanes; ++c) codes.lanes[8 * row + i][c] = static_cast<std::int8_t>(lanes[c]);
  }
}

inline void unpack_row(const GroupCodes& codes, int row, Lanes* s) {
  for (int i = 0; i < 8; ++i) {
    float lanes[kLanes];
    for (std::size_t c = 0; c < kLanes; ++c) lanes[c] = codes.lanes[8 * row + i][c];
    s[i] = load(lanes);
  }
}

inline void to_channels(GroupCodes& codes) {
  for (std::size_t c = 0; c < kLanes; ++c) {
    for (int i = 0; i < 64; ++i) codes.channel[c].code[i] = static_cast<std::uint8_t>(codes.lanes[i][c]);
  }
}
inline void to_lanes(GroupCodes& codes) {
  for (std::size_t c = 0; c < kLanes; ++c) {
    for (int i = 0; i < 64; ++i) codes.lanes[i][c] = static_cast<std::int8_t>(codes.channel[c].code[i]);
  }
}

inline Codes by_channel(const GroupCodes& codes, std::size_t channel) { return codes.channel[channel]; }
inline void set_channel(GroupCodes& codes, std::size_t channel, const Codes& tile) { codes.channel[channel] = tile; }

#endif

}  // namespace
}  // namespace halfbyte::tensor::HALFBYTE_ISA
