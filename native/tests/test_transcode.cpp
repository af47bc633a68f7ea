#include "jpeg/transcode.hpp"

#include <random>

#include "fuzz/fuzz.hpp"
#include "fuzz/scans_agree.hpp"
#include "jpeg/libjpeg.hpp"
#include "tests/check.hpp"

using namespace halfbyte;
using namespace halfbyte::jpeg;

namespace {

struct Picture {
  J_COLOR_SPACE colors;
  int components, width, height, quality;
  std::array<int, 4> h, v;
  bool interleaved, arithmetic;
  unsigned restart;
  std::vector<std::uint8_t> row;
};

struct Encoding {
  jpeg_compress_struct info;
  BufferSink sink;
  Buffer* out;
  Picture* picture;
  std::array<jpeg_scan_info, 4> scans;
};

void encode_all(Encoding& work) {
  jpeg_compress_struct* info = &work.info;
  const Picture& picture = *work.picture;
  jpeg_create_compress(info);
  attach(info, work.sink, *work.out);
  info->image_width = static_cast<JDIMENSION>(picture.width);
  info->image_height = static_cast<JDIMENSION>(picture.height);
  info->input_components = picture.components;
  info->in_color_space = picture.colors;
  jpeg_set_defaults(info);
  jpeg_set_colorspace(info, picture.colors);
  jpeg_set_quality(info, picture.quality, FALSE);
  info->arith_code = picture.arithmetic ? TRUE : FALSE;
  info->restart_interval = picture.restart;
  for (int i = 0; i < picture.components; ++i) {
    info->comp_info[i].h_samp_factor = picture.h[static_cast<std::size_t>(i)];
    info->comp_info[i].v_samp_factor = picture.v[static_cast<std::size_t>(i)];
    work.scans[static_cast<std::size_t>(i)] = {1, {i}, 0, 63, 0, 0};
  }
  if (!picture.interleaved) {
    info->scan_info = work.scans.data();
    info->num_scans = picture.components;
  }
  jpeg_start_compress(info, TRUE);
  std::uint32_t state = 12345;
  while (info->next_scanline < info->image_height) {
    for (std::size_t i = 0; i < work.picture->row.size(); ++i) {
      state = state * 1664525 + 1013904223;
      work.picture->row[i] = static_cast<std::uint8_t>((i * 3 + info->next_scanline * 5) / 4 + (state >> 28));
    }
    JSAMPROW row = work.picture->row.data();
    jpeg_write_scanlines(info, &row, 1);
  }
  jpeg_finish_compress(info);
}

// An empty buffer for what libjpeg cannot write.
Buffer encode(Picture picture) {
  picture.row.resize(static_cast<std::size_t>(picture.width * picture.components));
  Buffer out;
  Encoding work{};
  ErrorManager errors;
  work.info.err = install(errors);
  work.out = &out;
  work.picture = &picture;
  if (!guarded(errors, encode_all, work)) out.clear();
  jpeg_destroy_compress(&work.info);
  return out;
}

Picture random_picture(std::mt19937& random) {
  const auto upto = [&random](unsigned n) { return static_cast<int>(1 + random() % n); };
  constexpr std::array<J_COLOR_SPACE, 5> kColors{JCS_GRAYSCALE, JCS_YCbCr, JCS_RGB, JCS_CMYK, JCS_YCCK};
  constexpr std::array<int, 5> kCounts{1, 3, 3, 4, 4};
  const std::size_t color = random() % kColors.size();
  Picture picture{kColors[color], kCounts[color], upto(70), upto(70), upto(100), {}, {}, random() % 4 != 0,
                  random() % 4 == 0, static_cast<unsigned>(random() % 3), {}};
  for (std::size_t i = 0; i < 4; ++i) {
    picture.h[i] = 1 << random() % 3;
    picture.v[i] = 1 << random() % 3;
  }
  return picture;
}

// But for its DC, and equally.
void every_prefix_is_read_without_libjpeg(const Transcoded& picture) {
  std::size_t end = picture.levels.front().size();
  CHECK(!fuzz::own_scans_agree({picture.levels.data(), 1}));
  for (std::size_t count = 2; count <= picture.levels.size(); ++count) {
    end += picture.levels[count - 1].size();
    const Bytes uncut = Bytes(picture.stream).first(end);
    CHECK(fuzz::own_scans_agree({picture.levels.data(), count}));
    CHECK(fuzz::own_scans_agree({&uncut, 1}));
  }
}

void every_kind_of_picture_is_proven_equal() {
  const ScanScript script = fuzz::standard_script();
  std::mt19937 random(3);
  int done = 0;
  for (int round = 0; round < 400; ++round) {
    const Picture picture = random_picture(random);
    const Buffer source = encode(picture);
    if (source.empty()) continue;  // more than ten blocks a unit
    const auto result = transcode(source, script, Limits{});
    CHECK(result.ok());
    if (!result.ok()) std::fprintf(stderr, "%s\n", result.status().message.c_str());
    if (result.ok()) every_prefix_is_read_without_libjpeg(result.value());
    ++done;
  }
  CHECK(done > 200);
}

void damage_is_no_crash() {
  const ScanScript script = fuzz::standard_script();
  std::mt19937 random(4);
  for (int round = 0; round < 60; ++round) {
    const Buffer source = encode(random_picture(random));
    for (int change = 0; change < 30 && !source.empty(); ++change) {
      Buffer damaged(source);
      damaged[random() % damaged.size()] = static_cast<std::uint8_t>(random());
      const auto result = transcode(damaged, script, fuzz::kLimits);
      CHECK(result.ok() || !result.status().message.empty());
    }
  }
}

}  // namespace

int main() {
  every_kind_of_picture_is_proven_equal();
  damage_is_no_crash();
  return halfbyte::test::result();
}
