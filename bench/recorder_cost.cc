// Measures what it costs to read a process's flight recorder: `recorder_cost PID ROUNDS` prints,
// for each round, the calls that were kept and microseconds: to find the recorder and read it as a
// capture does; the same and keep all calls; and to copy as many bytes of one of the process's
// libraries as a ring of 2,000 calls has.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include "attach/live_target.h"
#include "cpython/python_process.h"
#include "elf/module_map.h"
#include "node/collect/read_recorders.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace {

using Clock = std::chrono::steady_clock;
using oddrank::attach::Addr;
using oddrank::attach::Target;

constexpr std::size_t kKeptNewest = 64;  // what --fr-memory is unless set
constexpr std::size_t kRingBytes = std::size_t{2000} * 512;

long long us_since(Clock::time_point start) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - start).count();
}

struct Reading {
  std::size_t calls = 0;
  long long us = 0;
};

Reading read_calls(const Target& target,
                   oddrank::elf::ModuleMap& modules,
                   oddrank::cpython::PythonMemory* python,
                   std::size_t newest) {
  const oddrank::snapshot::ProcessCapture process;
  oddrank::snapshot::Tables tables;
  const auto begun = Clock::now();
  const auto record =
      oddrank::node::read_recorders(target, modules, python, process, {newest, {}}, tables);
  const long long us = us_since(begun);
  return {record ? record->entries.size() : 0, us};
}

// Copies a part of a library; -1 if none is as large as a ring.
long long copy_us(const Target& target) {
  for (const auto& map : target.maps().listed()) {
    if (map.readable && map.end - map.start >= kRingBytes) {
      std::vector<std::byte> bytes(kRingBytes);
      const auto begun = Clock::now();
      const bool read = target.read(Addr{map.start}, bytes).has_value();
      return read ? us_since(begun) : -1;
    }
  }
  return -1;
}

int measure(pid_t pid, long rounds) {
  const auto target = oddrank::attach::LiveTarget::open(pid);
  if (!target) {
    std::fprintf(stderr, "%s\n", target.error().what.c_str());
    return EXIT_FAILURE;
  }
  for (long round = 0; round < rounds; ++round) {
    oddrank::elf::ModuleMap modules(**target);
    const auto python = oddrank::cpython::PythonProcess::find(**target, modules);
    std::optional<oddrank::cpython::PythonMemory> memory;
    if (python) {
      memory.emplace(python->memory());
    }
    auto* reader = memory ? &*memory : nullptr;
    const Reading newest = read_calls(**target, modules, reader, kKeptNewest);
    const Reading all = read_calls(**target, modules, reader, 0);
    std::printf("%zu %lld %zu %lld %lld\n", newest.calls, newest.us, all.calls, all.us,
                copy_us(**target));
  }
  return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** arguments) {
  const long pid = count == 3 ? std::strtol(arguments[1], nullptr, 10) : 0;
  const long rounds = count == 3 ? std::strtol(arguments[2], nullptr, 10) : 0;
  if (pid <= 0 || rounds <= 0 || rounds > 1000000) {
    std::fprintf(stderr, "usage: recorder_cost PID ROUNDS\n");
    return 2;
  }
  return measure(static_cast<pid_t>(pid), rounds);
}
