#include <array>
#include <cstdint>
#include <span>
#include <tuple>

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>

#include "bind/arrays.hpp"
#include "bind/module.hpp"
#include "bind/tensor.hpp"
#include "tensor/jpeg_act.hpp"
#include "tensor/jpeg_act_gate.hpp"
#include "tensor/jpeg_act_rle.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

using Address = std::uintptr_t;
using Shape = std::array<std::size_t, 5>;  // as a MapShape: planes, height, width, inner, channels
using Table = std::array<std::uint16_t, 64>;

tensor::MapShape map_shape(const Shape& shape) {
  const tensor::MapShape maps{shape[0], shape[1], shape[2], shape[3], shape[4]};
  const bool planar = maps.inner == 1 && maps.channels != 0 && maps.planes % maps.channels == 0;
  if (!planar && maps.inner != maps.channels) refuse("maps have planes of no whole number of channels");
  return maps;
}

tensor::JpegActTables tables_of(const Table& table, bool nearest) {
  for (const std::uint16_t entry : table) {
    if (entry < 1 || entry > 256) refuse("quantization table has an entry of " + std::to_string(entry));
  }
  return tensor::jpeg_act_tables(table.data(), nearest ? tensor::Rounding::nearest : tensor::Rounding::truncate);
}

tensor::ZvcTiles zvc_tiles(Address masks, Address counts, Address codes) {
  return {pointer<const std::uint64_t>(masks), pointer<const std::int64_t>(counts),
          pointer<const std::uint8_t>(codes)};
}

bool scales(Address x, int element, const Shape& shape, int num_threads, Address scales, Address inverse) {
  const tensor::Element type = element_of(element);
  const tensor::MapShape maps = map_shape(shape);
  const nb::gil_scoped_release release;
  return jpeg_act_scales(pointer<const void>(x), type, maps, pointer<float>(scales), pointer<float>(inverse),
                         num_threads);
}

std::tuple<std::size_t, std::size_t, std::size_t> estimate(Address x, int element, const Shape& shape,
                                                           const Table& table, bool nearest, bool rle,
                                                           Address inverse) {
  const tensor::Element type = element_of(element);
  const tensor::MapShape maps = map_shape(shape);
  const tensor::JpegActTables tables = tables_of(table, nearest);
  const nb::gil_scoped_release release;
  const tensor::JpegActEstimate estimate =
      jpeg_act_estimate(pointer<const void>(x), type, maps, pointer<const float>(inverse), tables,
                        rle ? tensor::Coder::rle : tensor::Coder::zvc);
  return {estimate.elements, estimate.nonzeros, estimate.bytes};
}

std::size_t encode(Address x, int element, const Shape& shape, const Table& table, bool nearest, int num_threads,
                   Address inverse, Address masks, Address counts) {
  const tensor::Element type = element_of(element);
  const tensor::MapShape maps = map_shape(shape);
  const tensor::JpegActTables tables = tables_of(table, nearest);
  const nb::gil_scoped_release release;
  return jpeg_act_encode(pointer<const void>(x), type, maps, pointer<const float>(inverse), tables,
                         pointer<std::uint64_t>(masks), pointer<std::int64_t>(counts), num_threads);
}

void gather(const Shape& shape, int num_threads, Address counts, Address codes) {
  const tensor::MapShape maps = map_shape(shape);
  const nb::gil_scoped_release release;
  jpeg_act_gather(maps, pointer<const std::int64_t>(counts), pointer<std::uint8_t>(codes), num_threads);
}

bool decode(Address x, int element, const Shape& shape, const Table& table, std::size_t num_codes, int num_threads,
            Address scales, Address masks, Address counts, Address codes) {
  const tensor::Element type = element_of(element);
  const tensor::MapShape maps = map_shape(shape);
  const tensor::JpegActTables tables = tables_of(table, false);
  const nb::gil_scoped_release release;
  return jpeg_act_decode(zvc_tiles(masks, counts, codes), num_codes, type, maps, pointer<const float>(scales), tables,
                         pointer<void>(x), num_threads);
}

std::size_t rle_measure(const Shape& shape, int num_threads, Address masks, Address counts, Address codes,
                        Address lengths, Address byte_counts) {
  const tensor::MapShape maps = map_shape(shape);
  const nb::gil_scoped_release release;
  return jpeg_act_rle_measure(maps, zvc_tiles(masks, counts, codes),
                              std::span<std::uint8_t, 256>(pointer<std::uint8_t>(lengths), 256),
                              pointer<std::int64_t>(byte_counts), num_threads);
}

void rle_write(const Shape& shape, int num_threads, Address masks, Address counts, Address codes, Address lengths,
               Address byte_counts, Address bytes) {
  const tensor::MapShape maps = map_shape(shape);
  const nb::gil_scoped_release release;
  jpeg_act_rle_write(maps, zvc_tiles(masks, counts, codes),
                     std::span<const std::uint8_t, 256>(pointer<const std::uint8_t>(lengths), 256),
                     pointer<const std::int64_t>(byte_counts), pointer<std::uint8_t>(bytes), num_threads);
}

bool rle_read(const Shape& shape, std::size_t num_codes, std::size_t num_bytes, int num_threads, Address masks,
              Address counts, Address codes, Address lengths, Address byte_counts, Address bytes) {
  const tensor::MapShape maps = map_shape(shape);
  const nb::gil_scoped_release release;
  return jpeg_act_rle_read(maps, {pointer<const std::uint8_t>(bytes), num_bytes},
                           pointer<const std::int64_t>(byte_counts),
                           std::span<const std::uint8_t, 256>(pointer<const std::uint8_t>(lengths), 256),
                           pointer<const std::int64_t>(counts), num_codes, pointer<std::uint64_t>(masks),
                           pointer<std::uint8_t>(codes), num_threads);
}

}  // namespace

void add_tensor_jpeg_act(nb::module_& module) {
  module.def("jpeg_act_scales", &scales, nb::arg("x"), nb::arg("element"), nb::arg("shape"), nb::arg("num_threads"),
             nb::arg("scales"), nb::arg("inverse"), "Fixed point for each channel; returns whether all are finite.");
  module.def("jpeg_act_estimate", &estimate, nb::arg("x"), nb::arg("element"), nb::arg("shape"), nb::arg("table"),
             nb::arg("nearest"), nb::arg("rle"), nb::arg("inverse"),
             "Elements and non-zero elements of a sample of tiles, and bytes of their codes or of their stream.");
  module.def("jpeg_act_encode", &encode, nb::arg("x"), nb::arg("element"), nb::arg("shape"), nb::arg("table"),
             nb::arg("nearest"), nb::arg("num_threads"), nb::arg("inverse"), nb::arg("masks"), nb::arg("counts"),
             "Codes tiles into this thread's workspace; returns the number of codes.");
  module.def("jpeg_act_gather", &gather, nb::arg("shape"), nb::arg("num_threads"), nb::arg("counts"),
             nb::arg("codes"), "The codes from the workspace.");
  module.def("jpeg_act_decode", &decode, nb::arg("x"), nb::arg("element"), nb::arg("shape"), nb::arg("table"),
             nb::arg("num_codes"), nb::arg("num_threads"), nb::arg("scales"), nb::arg("masks"), nb::arg("counts"),
             nb::arg("codes"), "False when masks, counts and codes do not fit each other.");
  module.def("jpeg_act_rle_measure", &rle_measure, nb::arg("shape"), nb::arg("num_threads"), nb::arg("masks"),
             nb::arg("counts"), nb::arg("codes"), nb::arg("lengths"), nb::arg("byte_counts"),
             "Chooses a Huffman code; returns the number of bytes.");
  module.def("jpeg_act_rle_write", &rle_write, nb::arg("shape"), nb::arg("num_threads"), nb::arg("masks"),
             nb::arg("counts"), nb::arg("codes"), nb::arg("lengths"), nb::arg("byte_counts"), nb::arg("bytes"),
             "Writes as many bytes as were measured.");
  module.def("jpeg_act_rle_read", &rle_read, nb::arg("shape"), nb::arg("num_codes"), nb::arg("num_bytes"),
             nb::arg("num_threads"), nb::arg("masks"), nb::arg("counts"), nb::arg("codes"), nb::arg("lengths"),
             nb::arg("byte_counts"), nb::arg("bytes"), "Masks and codes; false when the bytes are none of theirs.");
}

}  // namespace halfbyte::bind
