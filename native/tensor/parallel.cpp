#include "tensor/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <vector>

#include "base/pool.hpp"

namespace halfbyte::tensor {
namespace {

std::atomic<OpenMp> openmp{nullptr};

constexpr int kMostPoolThreads = 64;

struct Loop {
  std::size_t count;
  const void* task;
  void (*call)(const void*, std::size_t);
  std::atomic<std::size_t> next{0};

  void work() {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) call(task, i);
  }
};

void run_on_pool(int num_threads, Loop& loop) {
  static Pool pool(kMostPoolThreads);
  std::vector<Status> results(static_cast<std::size_t>(num_threads));
  pool.parallel_for(std::span(results), [&](std::size_t) {
    loop.work();
    return Status{};
  });
}

}  // namespace

void set_openmp(OpenMp runtime) { openmp.store(runtime, std::memory_order_relaxed); }

void detail::run(int num_threads, std::size_t count, const void* task, void (*call)(const void*, std::size_t)) {
  Loop loop{.count = count, .task = task, .call = call};
  const auto useful = static_cast<int>(std::min<std::size_t>(count, kMostPoolThreads));
  num_threads = std::min(num_threads, useful);
  if (num_threads <= 1) {
    loop.work();
  } else if (const OpenMp runtime = openmp.load(std::memory_order_relaxed)) {
    runtime([](void* data) { static_cast<Loop*>(data)->work(); }, &loop, static_cast<unsigned>(num_threads), 0);
  } else {
    run_on_pool(num_threads, loop);
  }
}

}  // namespace halfbyte::tensor
