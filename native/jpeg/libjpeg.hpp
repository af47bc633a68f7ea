// libjpeg with its errors as values and its input from slices.
//
// libjpeg leaves a failing call by longjmp. A longjmp past a C++ object with a destructor is undefined, so the rule of
// this folder is: every call into libjpeg happens inside `guarded`, whose body is a captureless function over a plain
// struct and holds nothing with a destructor; whatever it fills (vectors, strings) lives outside.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>  // jpeglib.h needs FILE
#include <span>

#include <jpeglib.h>

#include "base/bytes.hpp"
#include "base/limits.hpp"
#include "base/status.hpp"

namespace halfbyte::jpeg {

// "libjpeg-turbo 2.1.5", as of the headers that this was built with.
const char* version();

// libjpeg's error manager, extended: where to jump, and the first warning (libjpeg goes on after one; we call it damage).
struct ErrorManager {
  jpeg_error_mgr base;  // first, so that libjpeg's pointer to it is a pointer to this
  std::jmp_buf jump;
  Code code;                         // what `message` is an instance of
  char message[JMSG_LENGTH_MAX];     // of the error that ended the call
  char first_warning[JMSG_LENGTH_MAX];
};

// Installs the manager; to be called before jpeg_create_decompress or jpeg_create_compress.
jpeg_error_mgr* install(ErrorManager& manager);

// Ends the running libjpeg call with a failure of our own, as libjpeg's own errors do.
[[noreturn]] void fail(j_common_ptr info, Code code, const char* message);

// The status of a call that came back by longjmp.
Status failure_of(const ErrorManager& manager);

// The status of damage that libjpeg only warned of; ok when it warned of nothing.
Status warnings_of(const ErrorManager& manager);

// Runs body(context) with longjmp caught. Body must be a captureless function without destructors on its stack.
template <class Context>
bool guarded(ErrorManager& manager, void (*body)(Context&), Context& context) {
  if (setjmp(manager.jump) != 0) return false;
  body(context);
  return true;
}

// Input from consecutive slices, followed by an end-of-image marker that none of them holds.
struct SliceSource {
  jpeg_source_mgr base;  // first, as above
  std::span<const Bytes> slices;
  std::size_t next;
  bool ended;  // the added end-of-image marker was handed out
};

void attach(j_decompress_ptr info, SliceSource& source, std::span<const Bytes> slices);

// Output appended to a Buffer; growth failures become libjpeg errors, not exceptions through C.
struct BufferSink {
  jpeg_destination_mgr base;
  Buffer* buffer;
};

void attach(j_compress_ptr info, BufferSink& sink, Buffer& buffer);

// After jpeg_read_header: refuses (by `fail`) what is over the limits, before libjpeg allocates for it.
void check_limits(j_decompress_ptr info, const Limits& limits);

// The rows of blocks of a virtual array, from the first on. libjpeg-turbo keeps all of it in memory, so they stay where
// they are until the object is destroyed. For `guarded`.
struct BlockRows {
  j_common_ptr info;
  jvirt_barray_ptr array;
  std::span<JBLOCKROW> rows;
};

void find_rows(BlockRows& wanted);

// Ends decoding by `fail` once more scans came than the limit allows.
struct ScanLimit {
  jpeg_progress_mgr base;
  std::uint32_t max_scans;
};

void attach(j_decompress_ptr info, ScanLimit& limit, std::uint32_t max_scans);

}  // namespace halfbyte::jpeg
