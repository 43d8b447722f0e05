#include "cpython/kernel_tid.h"

#include <algorithm>
#include <limits>
#include <unordered_set>

#include "base/machine.h"

namespace oddrank::cpython {
namespace {

using Tids = std::unordered_set<pid_t>;

// The tids of the target's threads, in its own pid namespace.
struct Tasks {
  pid_t main = 0;
  Tids tids;
};

Tasks read_tasks(const attach::Target& target) {
  Tasks tasks;
  const auto threads = target.threads();
  if (!threads) {
    return tasks;
  }
  for (const attach::ThreadState& thread : *threads) {
    const pid_t tid = thread.target_tid != 0 ? thread.target_tid : thread.tid;
    tasks.tids.insert(tid);
    if (thread.tid == target.pid()) {
      tasks.main = tid;
    }
  }
  return tasks;
}

pid_t tid_at(RemoteReader& reader, std::uint64_t pthread, std::uint32_t offset) {
  return reader.value<std::int32_t>(Addr{pthread} + offset).value_or(0);
}

// Returns whether each thread has, at this offset, a tid of the target, or none (it exited).
bool fits(RemoteReader& reader,
          std::span<const ThreadStateRow> rows,
          std::uint32_t offset,
          const Tids& tids) {
  return std::all_of(rows.begin(), rows.end(), [&](const ThreadStateRow& row) {
    const pid_t tid = tid_at(reader, row.pthread, offset);
    return tid <= 0 || tids.contains(tid);
  });
}

// Returns the offset of the tid in struct pthread; nullopt if it is not found.
std::optional<std::uint32_t> find_offset(RemoteReader& reader,
                                         std::uint64_t main_pthread,
                                         std::span<const ThreadStateRow> rows,
                                         const Tasks& tasks) {
  // glibc's, for many years: behind the thread's own block on x86-64, behind a pad of 24 words
  // elsewhere.
  constexpr std::uint32_t kUsual = kOurMachine == Machine::kAmd64 ? 720 : 208;
  constexpr std::uint32_t kEnd = 2304;  // sizeof(struct pthread) of glibc 2.36
  // At the usual offset, any tid of the target is accepted: the main thread of an embedded Python
  // need not be the process's main thread, and a forked child's may be a copy of any thread of its
  // parent.
  const auto has_tid = [&](std::uint64_t pthread) {
    return tasks.tids.contains(tid_at(reader, pthread, kUsual));
  };
  if (has_tid(main_pthread) || std::any_of(rows.begin(), rows.end(),
                                           [&](const auto& row) { return has_tid(row.pthread); })) {
    return kUsual;
  }
  for (std::uint32_t offset = 0; tasks.main != 0 && offset < kEnd; offset += sizeof(std::int32_t)) {
    if (tid_at(reader, main_pthread, offset) == tasks.main &&
        fits(reader, rows, offset, tasks.tids)) {
      return offset;
    }
  }
  return std::nullopt;
}

// Returns the pthread_t of the main thread: the runtime's own, or else the one of the oldest thread
// state, which is last in the list.
std::uint64_t pthread_of_main(PythonMemory& memory,
                              Addr runtime,
                              std::span<const ThreadStateRow> rows) {
  const Layout& layout = memory.layout();
  const std::uint64_t stored =
      layout.runtime.main_thread == kAbsent
          ? 0
          : memory.value<std::uint64_t>(runtime + layout.runtime.main_thread).value_or(0);
  return stored != 0 || rows.empty() ? stored : rows.back().pthread;
}

}  // namespace

void KernelTids::correct_stale(PythonMemory& memory,
                               Addr runtime,
                               std::span<const ThreadStateRow> rows,
                               std::vector<pid_t>& tids) {
  const Tasks tasks = read_tasks(memory.target());
  if (!offset_) {
    offset_ = find_offset(memory, pthread_of_main(memory, runtime, rows), rows, tasks);
  }
  for (std::size_t i = 0; offset_ && i < rows.size(); ++i) {
    const pid_t tid = tasks.tids.contains(tids[i]) ? 0 : tid_at(memory, rows[i].pthread, *offset_);
    // Two states on one thread are told apart by more than this (correct_tids).
    if (tasks.tids.contains(tid) && std::find(tids.begin(), tids.end(), tid) == tids.end()) {
      tids[i] = tid;
    }
  }
}

std::vector<pid_t> KernelTids::resolve(PythonMemory& memory,
                                       Addr runtime,
                                       std::span<const ThreadStateRow> rows,
                                       std::span<const pid_t> live) {
  const Layout& layout = memory.layout();
  std::vector<pid_t> tids(rows.size(), 0);
  if (layout.thread.native_thread_id != kAbsent) {
    bool stale = false;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (rows[i].native_thread_id <= std::numeric_limits<pid_t>::max()) {
        tids[i] = static_cast<pid_t>(rows[i].native_thread_id);
      }
      stale = stale || (rows[i].newest_frame != Addr{} &&
                        std::find(live.begin(), live.end(), tids[i]) == live.end());
    }
    if (stale && !live.empty()) {
      correct_stale(memory, runtime, rows, tids);
    }
    return tids;
  }
  if (!offset_) {
    offset_ = find_offset(memory, pthread_of_main(memory, runtime, rows), rows,
                          read_tasks(memory.target()));
  }
  if (offset_) {
    std::vector<PythonMemory::Range> ranges;  // each on its own stack
    ranges.reserve(rows.size());
    for (const ThreadStateRow& row : rows) {
      ranges.push_back({Addr{row.pthread} + *offset_, sizeof(std::int32_t)});
    }
    memory.prefetch(ranges);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      tids[i] = std::max(tid_at(memory, rows[i].pthread, *offset_), pid_t{0});
    }
  }
  return tids;
}

void correct_tids(const attach::Target& target,
                  std::span<const ThreadStateRow> rows,
                  std::span<const Addr> anchors,
                  pid_t main_tid,
                  std::vector<pid_t>& tids) {
  const std::vector<pid_t> stored = tids;
  for (std::size_t i = 0; i < rows.size() && i < anchors.size(); ++i) {
    const attach::Mapping* stack = target.maps().find(anchors[i]);
    if (anchors[i] == Addr{} || stack == nullptr) {
      continue;
    }
    if (stack->path == "[stack]") {
      tids[i] = main_tid != 0 ? main_tid : tids[i];
      continue;
    }
    // glibc puts a thread's struct pthread at the upper end of its stack. The pair of pthread_t and
    // tid is right in every row: both are stored together.
    std::uint64_t nearest = stack->end;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      if (rows[j].pthread > value_of(anchors[i]) && rows[j].pthread < nearest && stored[j] != 0) {
        nearest = rows[j].pthread;
        tids[i] = stored[j];
      }
    }
  }
}

}  // namespace oddrank::cpython
