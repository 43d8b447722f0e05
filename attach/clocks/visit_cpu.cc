#include "attach/clocks/visit_cpu.h"

#include <pthread.h>
#include <sched.h>

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

namespace oddrank::attach {
namespace {

constexpr std::size_t kStackBytes = std::size_t{256} << 10;

// A set of CPUs as large as the kernel's may be.
class CpuSet {
 public:
  CpuSet() : set_(CPU_ALLOC(kMaxCpus)) { CPU_ZERO_S(bytes(), set_.get()); }

  static std::size_t bytes() { return CPU_ALLOC_SIZE(kMaxCpus); }
  cpu_set_t* get() const { return set_.get(); }

 private:
  struct Free {
    void operator()(cpu_set_t* set) const { CPU_FREE(set); }
  };
  std::unique_ptr<cpu_set_t, Free> set_;
};

struct Visit {
  const std::function<void()>* work = nullptr;
  std::mutex mutex;
  std::condition_variable done_or_late;
  bool done = false;
  bool late = false;
};

void* run(void* argument) {
  auto& visit = *static_cast<Visit*>(argument);
  const std::unique_lock lock(visit.mutex);
  if (!visit.late) {
    (*visit.work)();
    visit.done = true;
    visit.done_or_late.notify_one();
  }
  return nullptr;
}

// Starts the thread where it belongs: it never runs anywhere else.
bool start_on(int cpu, Visit& visit, pthread_t& thread) {
  const CpuSet there;
  CPU_SET_S(static_cast<std::size_t>(cpu), CpuSet::bytes(), there.get());
  pthread_attr_t how;
  if (::pthread_attr_init(&how) != 0) {
    return false;
  }
  const bool started = ::pthread_attr_setstacksize(&how, kStackBytes) == 0 &&
                       ::pthread_attr_setaffinity_np(&how, CpuSet::bytes(), there.get()) == 0 &&
                       ::pthread_create(&thread, &how, &run, &visit) == 0;
  ::pthread_attr_destroy(&how);
  return started;
}

}  // namespace

bool visit_cpu(int cpu, std::chrono::milliseconds patience, const std::function<void()>& work) {
  const CpuSet allowed;
  Visit visit;
  visit.work = &work;
  pthread_t thread{};
  if (cpu < 0 || cpu >= kMaxCpus || ::sched_getaffinity(0, CpuSet::bytes(), allowed.get()) != 0 ||
      !CPU_ISSET_S(static_cast<std::size_t>(cpu), CpuSet::bytes(), allowed.get()) ||
      !start_on(cpu, visit, thread)) {
    return false;
  }
  {
    std::unique_lock lock(visit.mutex);
    visit.done_or_late.wait_for(lock, patience, [&visit] { return visit.done; });
    visit.late = !visit.done;
  }
  if (visit.late) {
    // It may never get that CPU, and a process cannot end without its threads.
    ::pthread_setaffinity_np(thread, CpuSet::bytes(), allowed.get());
  }
  ::pthread_join(thread, nullptr);
  return visit.done;
}

}  // namespace oddrank::attach
