// Worker threads that outlive a call, survive fork, and never let an exception out.
#pragma once

#include <atomic>
#include <cstddef>
#include <exception>
#include <new>
#include <span>
#include <utility>

#include "base/status.hpp"

namespace halfbyte {

// The thread that calls works too, so a pool of n threads keeps n - 1 of its own, and a pool of one keeps none. They
// are started by the first call that can use them, once in every process: a child of fork starts fresh ones and leaves
// the parent's, which do not exist there, alone. Any number of threads may call at the same time.
class Pool {
 public:
  explicit Pool(int num_threads) : num_threads_(num_threads < 1 ? 1 : num_threads) {}
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  [[nodiscard]] int num_threads() const { return num_threads_; }

  // results[i] = task(i) for every i, in any order; returns when all are done. An exception in task becomes a status.
  template <class Task>
  void parallel_for(std::span<Status> results, const Task& task) {
    struct Context {
      std::span<Status> results;
      const Task& task;
    } context{results, task};
    run(results.size(), &context, [](void* erased, std::size_t i) noexcept {
      auto& own = *static_cast<Context*>(erased);
      own.results[i] = attempt(own.task, i);
    });
  }

 private:
  using Call = void (*)(void* context, std::size_t index) noexcept;
  struct Workers;

  // The messages fit a std::string's own storage, so that a status is made even when no memory is left.
  template <class Task>
  static Status attempt(const Task& task, std::size_t i) noexcept {
    try {
      return task(i);
    } catch (const std::bad_alloc&) {
      return Status::failure(Code::out_of_memory, "out of memory");
    } catch (...) {
      return Status::failure(Code::corrupt_image, "cannot decode");
    }
  }

  void run(std::size_t count, void* context, Call call);
  Workers* workers();

  int num_threads_;
  std::atomic<Workers*> workers_{nullptr};
};

}  // namespace halfbyte
