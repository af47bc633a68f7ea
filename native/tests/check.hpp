// All that these tests need of a framework.
#pragma once

#include <cstdio>

namespace halfbyte::test {

inline int failures = 0;

inline void check(bool holds, const char* what, const char* file, int line) {
  if (holds) return;
  ++failures;
  std::fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
}

inline int result() { return failures == 0 ? 0 : 1; }

}  // namespace halfbyte::test

#define CHECK(condition) ::halfbyte::test::check((condition), #condition, __FILE__, __LINE__)
