// From a native status to the exception of halfbyte.errors.
#pragma once

#include <nanobind/nanobind.h>

#include "base/status.hpp"

namespace halfbyte::bind {

// The name of the class in halfbyte.errors that stands for a code.
const char* error_name(Code code);

// Raises the exception that stands for the status, which must not be ok.
[[noreturn]] void raise(const Status& status);

}  // namespace halfbyte::bind
