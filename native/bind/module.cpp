// halfbyte._native: checks and converts arguments, releases the lock, calls the core, gives every result an owner.
#include <nanobind/nanobind.h>

#include "bind/module.hpp"

NB_MODULE(_native, module) {
  // Objects that live as long as the interpreter are no leak worth a message to users.
  nanobind::set_leak_warnings(false);
  module.doc() = "The native core of halfbyte: JPEG structure, transcoding, decoding, resampling; kernels on tensors.";
  halfbyte::bind::add_jpeg(module);
  halfbyte::bind::add_decode(module);
  halfbyte::bind::add_tensor(module);
}
