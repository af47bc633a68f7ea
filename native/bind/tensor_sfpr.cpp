#include <cstdint>
#include <tuple>

#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include "bind/module.hpp"
#include "bind/tensor.hpp"
#include "tensor/channels.hpp"
#include "tensor/sfpr.hpp"

namespace nb = nanobind;

namespace halfbyte::bind {
namespace {

using Address = std::uintptr_t;

tensor::ChannelArray array_of(int element, std::size_t outer, std::size_t channels, std::size_t inner) {
  return {.element = element_of(element), .outer = outer, .channels = channels, .inner = inner};
}

bool channel_ranges(Address x, int element, std::size_t outer, std::size_t channels, std::size_t inner,
                    Address max_abs, int num_threads) {
  const tensor::Element type = element_of(element);
  const nb::gil_scoped_release release;
  return tensor::channel_ranges(pointer<const void>(x), type, outer, channels, inner, pointer<float>(max_abs),
                                num_threads);
}

// Of the functions below, the parts of what is packed are the last arguments.

bool sfpr_encode(Address x, int element, std::size_t outer, std::size_t channels, std::size_t inner, int bits,
                 float levels, int num_threads, Address scales, Address is_unsigned, Address codes) {
  const tensor::ChannelArray array = array_of(element, outer, channels, inner);
  const nb::gil_scoped_release release;
  const tensor::SfprKind kind = tensor::sfpr_encode(pointer<const void>(x), array, bits, levels, pointer<float>(scales),
                                                    pointer<std::uint8_t>(codes), num_threads);
  *pointer<std::uint8_t>(is_unsigned) = kind.is_unsigned;
  return kind.is_finite;
}

void sfpr_decode(Address x, int element, std::size_t outer, std::size_t channels, std::size_t inner, int bits,
                 int num_threads, Address scales, Address is_unsigned, Address codes) {
  const tensor::ChannelArray array = array_of(element, outer, channels, inner);
  const nb::gil_scoped_release release;
  tensor::sfpr_decode(pointer<const std::uint8_t>(codes), pointer<const float>(scales), array, bits,
                      *pointer<const std::uint8_t>(is_unsigned) != 0, pointer<void>(x), num_threads);
}

std::tuple<bool, std::size_t> sfpr_zvc_encode(Address x, int element, std::size_t outer, std::size_t channels,
                                              std::size_t inner, float levels, int num_threads, Address scales,
                                              Address is_unsigned, Address mask, Address counts) {
  const tensor::ChannelArray array = array_of(element, outer, channels, inner);
  const nb::gil_scoped_release release;
  const tensor::SfprZvc zvc =
      tensor::sfpr_zvc_encode(pointer<const void>(x), array, levels, pointer<float>(scales),
                              pointer<std::uint8_t>(mask), pointer<std::int32_t>(counts), num_threads);
  *pointer<std::uint8_t>(is_unsigned) = zvc.kind.is_unsigned;
  return {zvc.kind.is_finite, zvc.codes};
}

void sfpr_zvc_gather(std::size_t runs, int num_threads, Address counts, Address codes) {
  const nb::gil_scoped_release release;
  tensor::sfpr_zvc_gather(pointer<const std::int32_t>(counts), runs, pointer<std::uint8_t>(codes), num_threads);
}

bool sfpr_zvc_decode(Address x, int element, std::size_t outer, std::size_t channels, std::size_t inner,
                     std::size_t num_codes, int num_threads, Address scales, Address is_unsigned, Address mask,
                     Address counts, Address codes) {
  const tensor::ChannelArray array = array_of(element, outer, channels, inner);
  const nb::gil_scoped_release release;
  return tensor::sfpr_zvc_decode(pointer<const std::uint8_t>(mask), pointer<const std::int32_t>(counts),
                                 pointer<const std::uint8_t>(codes), num_codes, pointer<const float>(scales), array,
                                 *pointer<const std::uint8_t>(is_unsigned) != 0, pointer<void>(x), num_threads);
}

}  // namespace

void add_tensor_sfpr(nb::module_& module) {
  module.def("channel_ranges", &channel_ranges, nb::arg("x"), nb::arg("element"), nb::arg("outer"), nb::arg("channels"),
             nb::arg("inner"), nb::arg("max_abs"), nb::arg("num_threads"),
             "max_abs[c] = max |x| over channel c of an (outer, channels, inner) array, infinity when it is not "
             "finite. Returns whether all are >= 0.");
  module.def("sfpr_encode", &sfpr_encode, nb::arg("x"), nb::arg("element"), nb::arg("outer"), nb::arg("channels"),
             nb::arg("inner"), nb::arg("bits"), nb::arg("levels"), nb::arg("num_threads"), nb::arg("scales"),
             nb::arg("is_unsigned"), nb::arg("codes"),
             "Fixed-point codes of 8 or 4 bits, and the scale of each channel. Returns whether all channels are "
             "finite.");
  module.def("sfpr_decode", &sfpr_decode, nb::arg("x"), nb::arg("element"), nb::arg("outer"), nb::arg("channels"),
             nb::arg("inner"), nb::arg("bits"), nb::arg("num_threads"), nb::arg("scales"), nb::arg("is_unsigned"),
             nb::arg("codes"), "x = code * scale.");
  module.def("sfpr_zvc_encode", &sfpr_zvc_encode, nb::arg("x"), nb::arg("element"), nb::arg("outer"),
             nb::arg("channels"), nb::arg("inner"), nb::arg("levels"), nb::arg("num_threads"), nb::arg("scales"),
             nb::arg("is_unsigned"), nb::arg("mask"), nb::arg("counts"),
             "8-bit codes of the elements that are not 0, to be fetched with sfpr_zvc_gather by the same thread. "
             "Returns whether all channels are finite, and the number of codes.");
  module.def("sfpr_zvc_gather", &sfpr_zvc_gather, nb::arg("runs"), nb::arg("num_threads"), nb::arg("counts"),
             nb::arg("codes"), "The codes that sfpr_zvc_encode found.");
  module.def("sfpr_zvc_decode", &sfpr_zvc_decode, nb::arg("x"), nb::arg("element"), nb::arg("outer"),
             nb::arg("channels"), nb::arg("inner"), nb::arg("num_codes"), nb::arg("num_threads"), nb::arg("scales"),
             nb::arg("is_unsigned"), nb::arg("mask"), nb::arg("counts"), nb::arg("codes"),
             "x = code * scale, and 0 where there is none. Returns whether mask and counts fit the codes.");
}

}  // namespace halfbyte::bind
