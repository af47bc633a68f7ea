// Inspecting, transcoding and restoring JPEGs.
#include <string>
#include <utility>

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "base/limits.hpp"
#include "bind/errors.hpp"
#include "bind/module.hpp"
#include "jpeg/libjpeg.hpp"
#include "jpeg/markers.hpp"
#include "jpeg/scan_script.hpp"
#include "jpeg/split.hpp"
#include "jpeg/transcode.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace halfbyte::bind {
namespace {

constexpr const char* kInspectDoc =
    "Walks the segments of a JPEG (ITU-T T.81, Annex B) without decoding it.\n\n"
    "Args:\n"
    "    data: the file, or its beginning.\n"
    "    limits: caps, checked at the frame header.\n\n"
    "Raises:\n"
    "    NeedMoreBytes: sound so far, but the end of the image is not there yet.\n"
    "    CorruptImage: no JPEG, or a damaged one.\n"
    "    UnsupportedImage: hierarchical, JPEG-LS, or a height that is told after the first scan.\n"
    "    LimitExceeded: the header asks for more than a limit allows.";

constexpr const char* kTranscodeSignature =
    "def transcode(data: typing_extensions.Buffer, script: ScanScript, limits: Limits = ...) -> Transcoded";

constexpr const char* kTranscodeDoc =
    "Makes the levels of a progressive JPEG out of any JPEG, without changing a coefficient.\n\n"
    "The result is read back by libjpeg and compared: every coefficient, quantization table and sampling factor.\n\n"
    "Args:\n"
    "    data: a whole JPEG file; what follows its end-of-image marker is kept apart.\n"
    "    script: its scans.\n"
    "    limits: caps on the source.\n\n"
    "Raises:\n"
    "    CorruptImage: the source is damaged (whatever libjpeg only warns of counts), or the proof failed.\n"
    "    UnsupportedImage: it cannot be progressive; the text before a colon is a short reason, fit for counting.\n"
    "    LimitExceeded: its header asks for more than a limit allows.";

constexpr const char* kRestoreSignature =
    "def restore_metadata(jpeg: typing_extensions.Buffer, metadata: typing_extensions.Buffer, "
    "trailing: typing_extensions.Buffer) -> bytes";

constexpr const char* kRestoreDoc =
    "Puts the metadata and the trailing bytes of the source back around its image.\n\n"
    "Args:\n"
    "    jpeg: the joined levels, with or without an end-of-image marker.\n"
    "    metadata: as in Transcoded; it replaces the APPn and COM segments of `jpeg`, unless it is empty.\n"
    "    trailing: as in Transcoded.\n\n"
    "Raises:\n"
    "    CorruptImage: `jpeg` is no JPEG, or `metadata` is not made of whole segments.";

// The bytes of an object that supports the buffer protocol, in place; held under the lock, read without it.
class Source {
 public:
  explicit Source(nb::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) != 0) throw nb::python_error();
  }
  ~Source() { PyBuffer_Release(&view_); }
  Source(const Source&) = delete;
  Source& operator=(const Source&) = delete;

  [[nodiscard]] Bytes bytes() const {
    return {static_cast<const std::uint8_t*>(view_.buf), static_cast<std::size_t>(view_.len)};
  }

 private:
  Py_buffer view_{};
};

nb::bytes to_python(Bytes bytes) { return nb::bytes(bytes.data(), bytes.size()); }

// Runs `work` without the lock; raises what it failed with.
template <class Work>
auto unlocked(const Work& work) {
  auto result = [&] {
    const nb::gil_scoped_release release;
    return work();
  }();
  if (!result.ok()) raise(result.status());
  return std::move(result.value());
}

struct Levels {
  std::uint32_t width, height;
  int orientation;
  nb::list levels;
  nb::bytes metadata, trailing;
};

Levels transcode(nb::handle data, const jpeg::ScanScript& script, const Limits& limits) {
  const Source source(data);
  const jpeg::Transcoded done = unlocked([&] { return jpeg::transcode(source.bytes(), script, limits); });
  nb::list levels;
  for (const Bytes level : done.levels) levels.append(to_python(level));
  return {done.width, done.height, done.orientation, levels, to_python(done.metadata), to_python(done.trailing)};
}

std::string repr(const Levels& result) {
  std::size_t bytes = 0;
  for (nb::handle level : result.levels) bytes += nb::borrow<nb::bytes>(level).size();
  return "Transcoded(" + std::to_string(result.width) + "x" + std::to_string(result.height) + ", orientation " +
         std::to_string(result.orientation) + ", " + std::to_string(nb::len(result.levels)) + " levels of " +
         std::to_string(bytes) + " bytes, metadata " + std::to_string(result.metadata.size()) + ", trailing " +
         std::to_string(result.trailing.size()) + ")";
}

void add_transcode(nb::module_& module) {
  nb::class_<Levels>(module, "Transcoded", "A JPEG cut into the levels of a progressive one.")
      .def_ro("width", &Levels::width, "Pixels, as coded: the orientation is not applied.")
      .def_ro("height", &Levels::height, "Pixels, as coded.")
      .def_ro("orientation", &Levels::orientation, "EXIF, 1 to 8.")
      .def_ro("levels", &Levels::levels, nb::for_getter(nb::sig("def levels(self, /) -> list[bytes]")),
              "Levels 1..k and FF D9, joined, are a JPEG for every k >= 1. A level may be empty.")
      .def_ro("metadata", &Levels::metadata,
              "The APPn and COM segments of the source; empty where the levels carry the very same.")
      .def_ro("trailing", &Levels::trailing, "What followed the end-of-image marker of the source.")
      .def("__repr__", [](const Levels& result) { return repr(result); });
  module.def("transcode", transcode, "data"_a, "script"_a, "limits"_a = Limits(), nb::sig(kTranscodeSignature),
             kTranscodeDoc);
}

jpeg::JpegInfo inspect(nb::handle data, const Limits& limits) {
  const Source source(data);
  return unlocked([&] { return jpeg::inspect(source.bytes(), limits); });
}

nb::bytes restore(nb::handle image, nb::handle metadata, nb::handle trailing) {
  const Source whole(image), front(metadata), back(trailing);
  const Buffer out = unlocked([&] { return jpeg::restore_metadata(whole.bytes(), front.bytes(), back.bytes()); });
  return to_python(out);
}

}  // namespace

void add_jpeg(nb::module_& module) {
  add_jpeg_types(module);
  module.def("libjpeg_version", [] { return jpeg::version(); },
             "The libjpeg-turbo that this module was built with, for provenance.");
  module.def("inspect_jpeg", inspect, "data"_a, "limits"_a = Limits(),
             nb::sig("def inspect_jpeg(data: typing_extensions.Buffer, limits: Limits = ...) -> JpegInfo"),
             kInspectDoc);
  add_transcode(module);
  module.def("restore_metadata", restore, "jpeg"_a, "metadata"_a, "trailing"_a, nb::sig(kRestoreSignature),
             kRestoreDoc);
}

}  // namespace halfbyte::bind
