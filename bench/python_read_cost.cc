// Measures what it costs to read the Python frames of a process, for bench/python_bench.py:
//   python_read_cost PID ROUNDS [LOCALS]   LOCALS: none (default), deciding, all
// prints the version, then one line a sample: threads, frames, calls that read memory,
// microseconds. The first sample has no cache; the search for the runtime has a line of its own
// before it. The other samples have the code objects of the previous one.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "attach/live_target.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"

namespace {

using oddrank::attach::Addr;
using oddrank::attach::LiveTarget;
using oddrank::attach::Target;
using oddrank::cpython::Locals;
using oddrank::cpython::PythonProcess;
using Clock = std::chrono::steady_clock;

class CountingTarget final : public Target {
 public:
  explicit CountingTarget(const Target& target) : target_(target) {}

  std::size_t take_calls() { return std::exchange(calls_, 0); }

  pid_t pid() const override { return target_.pid(); }
  const std::string& name() const override { return target_.name(); }
  oddrank::Status read(Addr address, std::span<std::byte> into) const override;
  void read_many(std::span<oddrank::attach::ReadRequest> requests) const override;
  const oddrank::attach::MemoryMap& maps() const override { return target_.maps(); }
  oddrank::Result<oddrank::UniqueFd> open_file(
      const oddrank::attach::Mapping& mapping) const override {
    return target_.open_file(mapping);
  }
  oddrank::Result<std::vector<oddrank::attach::ThreadState>> threads() const override {
    return target_.threads();
  }
  oddrank::Result<oddrank::attach::ThreadState> thread(pid_t tid) const override {
    return target_.thread(tid);
  }

 private:
  const Target& target_;
  mutable std::size_t calls_ = 0;
};

oddrank::Status CountingTarget::read(Addr address, std::span<std::byte> into) const {
  ++calls_;
  return target_.read(address, into);
}

void CountingTarget::read_many(std::span<oddrank::attach::ReadRequest> requests) const {
  ++calls_;
  target_.read_many(requests);
}

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

Locals locals_named(std::string_view name) {
  return name == "all" ? Locals::kAll : name == "deciding" ? Locals::kDeciding : Locals::kNone;
}

int measure(pid_t pid, int rounds, Locals locals) {
  const auto live = LiveTarget::open(pid);
  if (!live) {
    std::fprintf(stderr, "%s\n", live.error().what.c_str());
    return 1;
  }
  CountingTarget target(**live);
  (void)target.maps();
  const auto begin = Clock::now();
  oddrank::elf::ModuleMap modules(target);
  const auto python = PythonProcess::find(target, modules);
  const double found = microseconds_since(begin);
  if (!python) {
    std::fprintf(stderr, "%s\n", python.error().what.c_str());
    return 1;
  }
  std::printf("%s\nfind 0 0 %zu %.0f\n", python->version().c_str(), target.take_calls(), found);
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    const auto threads = python->threads(locals);
    const double took = microseconds_since(start);
    if (!threads) {
      std::fprintf(stderr, "%s\n", threads.error().what.c_str());
      return 1;
    }
    std::size_t frames = 0;
    for (const auto& thread : *threads) {
      frames += thread.frames.size();
    }
    std::printf("look %zu %zu %zu %.0f\n", threads->size(), frames, target.take_calls(), took);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  const long pid = count > 2 ? std::strtol(arguments[1], nullptr, 10) : 0;
  const long rounds = count > 2 ? std::strtol(arguments[2], nullptr, 10) : 0;
  if (pid <= 0 || rounds <= 0 || rounds > 1000000) {
    std::fprintf(stderr, "usage: python_read_cost PID ROUNDS [none|deciding|all]\n");
    return 2;
  }
  return measure(static_cast<pid_t>(pid), static_cast<int>(rounds),
                 locals_named(count > 3 ? arguments[3] : "none"));
}
