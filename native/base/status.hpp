// Failures are values: a code, and a message that a person can act on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace halfbyte {

enum class Code : int {
  ok = 0,
  need_more_bytes,    // a sound prefix that stops too early
  corrupt_image,      // a decoder would have to guess
  unsupported_image,  // sound, but not of a kind that the operation takes
  limit_exceeded,     // refused before memory was allocated
  illegal_script,     // breaks a rule of progressive JPEG
  out_of_memory,
};

struct Status {
  Code code = Code::ok;
  std::string message;
  std::uint64_t have = 0;  // need_more_bytes only: bytes at hand
  std::uint64_t need = 0;  // need_more_bytes only: bytes known to be needed, at least

  [[nodiscard]] bool ok() const { return code == Code::ok; }

  static Status failure(Code code, std::string message) { return {code, std::move(message), 0, 0}; }
  static Status need_more(std::string message, std::uint64_t have, std::uint64_t need) {
    return {Code::need_more_bytes, std::move(message), have, need};
  }
};

// A value, or the status that says why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}           // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return value_.has_value(); }
  [[nodiscard]] const Status& status() const { return status_; }
  [[nodiscard]] T& value() { return *value_; }
  [[nodiscard]] const T& value() const { return *value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace halfbyte
