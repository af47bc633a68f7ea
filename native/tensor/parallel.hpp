// Loops over the pieces of a tensor, on the threads that the framework already keeps.
#pragma once

#include <cstddef>

namespace halfbyte::tensor {

// The entry point of an OpenMP runtime (libgomp's ABI, which the others export too): run body(data) on this many
// threads. Idle threads of such a runtime spin for a while after a loop; threads of our own would fight them for cores.
using OpenMp = void (*)(void (*body)(void*), void* data, unsigned num_threads, unsigned flags);

// Use this runtime from now on; without one, a pool of our own.
void set_openmp(OpenMp runtime);

namespace detail {
void run(int num_threads, std::size_t count, const void* task, void (*call)(const void* task, std::size_t index));
}

// task(i) for every i in [0, count), in any order, on up to num_threads threads; returns when all are done. The task
// must not throw.
template <class Task>
void parallel_for(int num_threads, std::size_t count, const Task& task) {
  detail::run(num_threads, count, &task,
              [](const void* erased, std::size_t i) { (*static_cast<const Task*>(erased))(i); });
}

}  // namespace halfbyte::tensor
