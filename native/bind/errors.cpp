#include "bind/errors.hpp"

#include <new>
#include <stdexcept>

#include <nanobind/stl/string.h>

namespace nb = nanobind;

namespace halfbyte::bind {

const char* error_name(Code code) {
  switch (code) {
    case Code::need_more_bytes: return "NeedMoreBytes";
    case Code::corrupt_image: return "CorruptImage";
    case Code::unsupported_image: return "UnsupportedImage";
    case Code::limit_exceeded: return "LimitExceeded";
    case Code::illegal_script: return "ScanScriptError";
    case Code::out_of_memory: return "MemoryError";
    case Code::ok: break;
  }
  return "HalfbyteError";
}

void raise(const Status& status) {
  if (status.code == Code::out_of_memory) throw std::bad_alloc();
  nb::object type = nb::module_::import_("halfbyte.errors").attr(error_name(status.code));
  nb::object error = status.code == Code::need_more_bytes ? type(status.message, status.have, status.need)
                                                          : type(status.message);
  PyErr_SetObject(type.ptr(), error.ptr());
  throw nb::python_error();
}

}  // namespace halfbyte::bind
