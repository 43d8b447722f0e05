#include "tests/fuzz/python_reading.h"

#include <cstdint>
#include <sstream>
#include <utility>

#include "collectives/collect_groups.h"
#include "collectives/torch/meeting_place.h"
#include "cpython/python_process.h"
#include "stacks/convert_frames.h"
#include "tests/fuzz/memory_image.h"
#include "waits/python/lock_files.h"
#include "waits/python/python_locks.h"
#include "waits/python/semaphore_objects.h"
#include "waits/python/store_keys.h"
#include "waits/wait_of_thread.h"

namespace oddrank::fuzz {
namespace {

class NoFiles final : public waits::ProcessFiles {
 public:
  std::string link(int /*fd*/) const override { return {}; }
  std::string info(int /*fd*/) const override { return {}; }
  std::string locked_files() const override { return {}; }
};

void tell(std::ostringstream& out, const std::vector<cpython::PythonFrame>& frames) {
  for (const cpython::PythonFrame& frame : frames) {
    out << "  " << frame.function << ' ' << frame.file << ':' << frame.line << ' ' << frame.entry
        << ' ' << frame.loops.size() << '\n';
    for (const cpython::PythonLocal& local : frame.locals) {
      out << "    " << local.name << " = " << local.value << '\n';
    }
    for (const cpython::FrameLoop& loop : frame.loops) {
      out << "    loop " << loop.iterates << loop.cut << ' ' << loop.sets.size();
      for (const cpython::FrameCall& call : loop.calls) {
        out << ' ' << call.object << '.' << call.name;
      }
      out << '\n';
    }
  }
}

snapshot::ProcessCapture capture_of(const std::vector<cpython::PythonThread>& threads,
                                    elf::ModuleMap& modules,
                                    snapshot::Tables& tables) {
  snapshot::ProcessCapture process;
  stacks::FrameConverter convert(modules, tables, {});
  for (const cpython::PythonThread& thread : threads) {
    snapshot::ThreadCapture& row = process.threads.emplace_back();
    row.tid = thread.target_tid;
    row.has_python = true;
    snapshot::ThreadSample& sample = row.samples.emplace_back();
    snapshot::Stack stack;
    for (const snapshot::Frame& frame : convert.python(thread.frames)) {
      stack.frames.push_back(tables.frame(frame));
    }
    sample.stack = tables.stack(stack);
  }
  return process;
}

}  // namespace

std::string read_python(const attach::Target& target,
                        elf::ModuleMap& modules,
                        const cpython::Runtime& runtime,
                        const std::vector<attach::ThreadState>& states) {
  auto python = cpython::PythonProcess::of(target, modules, runtime);
  std::ostringstream out;
  const auto threads = python.threads(cpython::Locals::kAll);
  if (!threads) {
    return threads.error().what;
  }
  for (const cpython::PythonThread& thread : *threads) {
    out << "thread " << thread.target_tid << ' ' << thread.name << ' ' << thread.holds_gil << ' '
        << thread.interpreter << ' ' << thread.cut << '\n';
    tell(out, thread.frames);
  }
  out << python.gils().size() << " GILs\n";
  if (const auto tasks = python.tasks()) {
    for (const cpython::PythonTask& task : *tasks) {
      out << "task " << task.name << ' ' << static_cast<int>(task.state) << ' ' << task.awaits
          << ' ' << task.members.size() << '\n';
      tell(out, task.frames);
    }
  }
  snapshot::Tables tables;
  auto process = capture_of(*threads, modules, tables);
  (void)collectives::collect_groups(python, tables, process);
  for (const snapshot::ProcessGroup& group : process.groups) {
    out << "group " << tables.text(group.name) << ' ' << group.rank << ' '
        << tables.text(group.members) << ' ' << group.counters.size() << '\n';
  }
  if (const auto timeout = collectives::read_group_timeout(python)) {
    out << "timeout " << timeout->count() << '\n';
  }
  auto sample = python.release_sample();
  if (!sample) {
    return out.str();
  }
  const NoFiles files;
  std::vector<waits::ThreadWait> waits(process.threads.size());
  for (std::size_t i = 0; i < waits.size(); ++i) {
    for (const attach::ThreadState& state : states) {
      if (state.tid == process.threads[i].tid) {
        waits[i] = waits::wait_of_thread({target, files, states, state});
      }
    }
  }
  waits::PythonWaits all{*sample, states, tables, process, waits};
  waits::read_python_locks(all);
  waits::read_lock_files(all);
  waits::read_store_keys(all);
  for (const waits::ThreadWait& wait : waits) {
    out << "wait " << static_cast<int>(wait.on) << ' ' << wait.holder_tid << ' ' << wait.detail
        << ' ' << wait.key << '\n';
  }
  out << waits::SemaphoreObjects(*sample).find().size() << " semaphores\n";
  return out.str();
}

std::string write_python_head(const cpython::Runtime& runtime,
                              const std::vector<attach::ThreadState>& states) {
  std::string bytes;
  append(bytes, static_cast<std::uint8_t>(runtime.version.minor));
  append(bytes, static_cast<std::uint8_t>(states.size() - 1));
  append(bytes, attach::value_of(runtime.address));
  for (const attach::ThreadState& state : states) {
    append(bytes, static_cast<std::int32_t>(state.target_tid));
    append(bytes, static_cast<std::int32_t>(state.syscall ? state.syscall->number : -1));
    append(bytes, state.syscall ? state.syscall->arguments[0] : 0);
  }
  return bytes;
}

}  // namespace oddrank::fuzz
