// One function, compiled for several instruction sets; the loader picks the best that the processor has.
#pragma once

// Needs ifunc, which programs under a sanitizer cannot start with.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HALFBYTE_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define HALFBYTE_CLONES
#endif

// Part of whatever clone or kernel calls it.
#define HALFBYTE_INLINE inline __attribute__((always_inline))
