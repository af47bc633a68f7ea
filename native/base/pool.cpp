#include "base/pool.hpp"

#include <condition_variable>
#include <csignal>
#include <memory>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <pthread.h>
#include <unistd.h>

namespace halfbyte {
namespace {

constexpr const char* kThreadName = "halfbyte-pool";  // 15 letters at most

// One call of parallel_for. It lives on the caller's stack: the caller leaves only when no helper is inside.
struct Job {
  std::size_t count;
  void* context;
  void (*call)(void*, std::size_t) noexcept;
  std::atomic<std::size_t> next{0};
  int helpers = 0;         // guarded by the workers' mutex
  Job* following = nullptr;  // likewise

  [[nodiscard]] bool exhausted() const { return next.load(std::memory_order_relaxed) >= count; }
  void work() {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) call(context, i);
  }
};

// Signals sent to the process go to Python's main thread. Those that a thread causes itself must stay deliverable:
// blocked, they would end the process without faulthandler's trace.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) sigdelset(&all, own);
    pthread_sigmask(SIG_BLOCK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

struct Pool::Workers {
  const pid_t owner = getpid();
  std::mutex mutex;
  std::condition_variable work;  // a job came, or the end
  std::condition_variable left;  // a helper left its job
  Job* jobs = nullptr;           // oldest first
  bool stop = false;
  std::vector<std::thread> threads;

  // Fewer threads than asked for are no failure: the caller does what is left.
  void start(int count) {
    const SignalsBlocked blocked;
    try {
      threads.reserve(static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) {
        threads.emplace_back([this] { help(); });
        pthread_setname_np(threads.back().native_handle(), kThreadName);
      }
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
  }

  Job* open_job() {
    for (Job* job = jobs; job != nullptr; job = job->following) {
      if (!job->exhausted()) return job;
    }
    return nullptr;
  }

  void help() {
    std::unique_lock lock(mutex);
    for (;;) {
      Job* job = nullptr;
      work.wait(lock, [&] { return stop || (job = open_job()) != nullptr; });
      if (stop) return;
      ++job->helpers;
      lock.unlock();
      job->work();
      lock.lock();
      if (--job->helpers == 0) left.notify_all();
    }
  }

  void enter(Job& job) {
    const std::lock_guard lock(mutex);
    Job** end = &jobs;
    while (*end != nullptr) end = &(*end)->following;
    *end = &job;
    work.notify_all();
  }

  void leave(Job& job) {
    std::unique_lock lock(mutex);
    Job** place = &jobs;
    while (*place != &job) place = &(*place)->following;
    *place = job.following;
    left.wait(lock, [&] { return job.helpers == 0; });
  }

  ~Workers() {
    {
      const std::lock_guard lock(mutex);
      stop = true;
    }
    work.notify_all();
    for (std::thread& thread : threads) thread.join();
  }
};

Pool::~Pool() {
  Workers* own = workers_.load();
  // After fork the threads exist in the parent only: joining them would hang, and so could their mutex.
  if (own != nullptr && own->owner == getpid()) delete own;
}

// A lock here could have been held by another thread at the moment of fork, so the pointer is swapped instead.
Pool::Workers* Pool::workers() {
  Workers* seen = workers_.load(std::memory_order_acquire);
  if (seen != nullptr && seen->owner == getpid()) return seen;
  auto fresh = std::make_unique<Workers>();
  fresh->start(num_threads_ - 1);
  if (workers_.compare_exchange_strong(seen, fresh.get(), std::memory_order_acq_rel)) return fresh.release();
  return seen;  // another thread was first; what it put there is of this process
}

void Pool::run(std::size_t count, void* context, Call call) {
  Job job{.count = count, .context = context, .call = call};
  if (num_threads_ == 1 || count < 2) {
    job.work();
    return;
  }
  Workers* crew = nullptr;
  try {
    crew = workers();
  } catch (const std::bad_alloc&) {
    job.work();
    return;
  }
  crew->enter(job);
  job.work();
  crew->leave(job);
}

}  // namespace halfbyte
