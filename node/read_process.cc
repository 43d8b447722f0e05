#include "node/read_process.h"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attach/in_memory_target.h"
#include "attach/live_target.h"
#include "attach/proc_task.h"
#include "base/clock_us.h"
#include "base/printable.h"
#include "base/secrets/mask_secrets.h"
#include "collectives/collect_groups.h"
#include "collectives/gloo_world.h"
#include "collectives/mpi/mpi_calls.h"
#include "collectives/torch/gloo_transfers.h"
#include "collectives/torch/store_contents.h"
#include "cpython/last_exception.h"
#include "node/files/silent_files.h"
#include "node/note_setup.h"
#include "node/read_outside.h"
#include "ranks/process_activity.h"
#include "snapshot/carrier.h"
#include "snapshot/libraries/known_libraries.h"
#include "waits/node/collect_waits.h"
#include "waits/node/thread_motion.h"
#include "waits/node/written_bytes.h"

namespace oddrank::node {

using snapshot::Library;

namespace {

void note_silence(const std::string& mounts,
                  snapshot::Tables& tables,
                  snapshot::ProcessCapture& process) {
  const std::string silence = mounts.empty() ? "its files did not answer in time"
                                             : "files that it runs do not answer: " + mounts;
  process.read = snapshot::ReadState::kPartial;
  process.why = tables.string(
      join_clauses(tables.text(process.why), silence + "; what is in memory was read"));
}

// The store is in the process, or in its launcher: torchrun serves it for its ranks.
void collect_store(const attach::Target& target,
                   const std::vector<attach::ThreadState>& threads,
                   snapshot::Tables& tables,
                   snapshot::ProcessCapture& process) {
  collectives::collect_store(target, threads, tables, process);
  if (process.store.empty() && process.local_rank == 0) {
    const auto launcher = attach::LiveTarget::open(process.parent);
    if (!launcher) {
      return;
    }
    if (const auto states = (*launcher)->threads()) {
      collectives::collect_store(**launcher, *states, tables, process);
    }
  }
}

// Reads the threads, and what they wait for. On an error the process has what was read before.
Status read_target(const attach::LiveTarget& target,
                   const snapshot::ProcessCapture& identity,
                   const ReadOptions& options,
                   snapshot::Tables& tables,
                   snapshot::ProcessCapture& process) {
  waits::QuietTimes quiet;
  ReadOptions noting = options;
  noting.before_stop = [&](std::span<const attach::ThreadState> threads) {
    quiet.merge(waits::read_quiet_times(identity.pid, threads));  // the first time counts
  };
  std::optional<attach::InMemoryTarget> resident;
  if (!options.files) {
    resident.emplace(target, openable_files(process.pid));
  }
  const attach::Target& readable =
      resident ? static_cast<const attach::Target&>(*resident) : target;
  ODDRANK_TRY(auto read, read_threads(readable, noting, tables, process));
  if (!options.files) {
    note_silence(SilentFiles(process.pid).mounts(readable.maps()), tables, process);
  }
  waits::collect_waits(readable, read.threads, read.python, tables, process);
  waits::keep_quiet_times(quiet, process);
  if (identity.setup.empty()) {  // later samples have what the first one found
    collect_store(readable, read.threads, tables, process);
    note_libraries(attach::InMemoryTarget(target), tables, process);
    note_node(tables, process);
    note_mounts(tables, process);
  }
  return ok();
}

}  // namespace

snapshot::Capture read_process(const snapshot::Capture& known,
                               const snapshot::ProcessCapture& identity,
                               const ReadOptions& options) {
  snapshot::Capture capture;
  capture.nodes = known.nodes;
  snapshot::Carrier carrier(known.tables, capture.tables);
  snapshot::ProcessCapture process = carrier.row(identity);
  process.read_us = clock_us(CLOCK_REALTIME);
  const waits::IoBytes bytes = waits::read_io(process.pid);
  process.written_bytes = bytes.written;
  process.read_bytes = bytes.read;
  const auto target = attach::LiveTarget::open(process.pid);
  const Status read = target ? read_target(**target, identity, options, capture.tables, process)
                             : fail(target.error());
  if (!read) {
    process.read = snapshot::ReadState::kNone;
    process.why = capture.tables.string(read.error().what);
  }
  if (process.read == snapshot::ReadState::kNone) {
    read_from_outside(capture, process);
  }
  capture.processes.push_back(std::move(process));
  return capture;
}

namespace {

// Believes the process's own group before the variables with which it was started. A process that
// has another role in the job, and is alone in its group, has no number in the job.
void take_place(const ranks::ReportedWorld& reported, snapshot::ProcessCapture& process) {
  const bool alone = reported.world_size == 1 && process.role != snapshot::JobRole::kUnknown;
  if (reported.by != ranks::ReportedBy::kGroup || !reported.has_rank() || alone) {
    return;
  }
  process.local_rank = process.rank == reported.rank ? process.local_rank : -1;
  process.rank = reported.rank;
  process.world_size = reported.world_size;
}

bool runs_for_others(snapshot::JobRole role) {
  return role != snapshot::JobRole::kUnknown && role != snapshot::JobRole::kController &&
         role != snapshot::JobRole::kService;
}

// Frames of MPI and of its components hold MPI's objects, frames of JAX its gloo's.
bool is_mpi(std::string_view path) {
  const Library library = snapshot::library_of(path);
  return library == Library::kMpi || library == Library::kMpiPart;
}

bool is_jax(std::string_view path) {
  return snapshot::library_of(path) == Library::kJax;
}

// Returns the words of the frames in modules of one kind, of each thread that has such frames.
template <typename Thread>
std::vector<Thread> threads_in(const attach::Target& target,
                               bool (*is_of_kind)(std::string_view path),
                               const std::vector<stacks::KeptFrames>& kept) {
  std::vector<Thread> threads;
  for (const stacks::KeptFrames& of_thread : kept) {
    Thread thread;
    thread.tid = of_thread.tid;
    for (const unwind::NativeFrame& frame : of_thread.frames) {
      const attach::Mapping* mapping = target.maps().find(attach::Addr{frame.pc});
      if (mapping != nullptr && is_of_kind(mapping->path)) {
        thread.frames.push_back(frame.words);
      }
    }
    if (!thread.frames.empty()) {
      threads.push_back(std::move(thread));
    }
  }
  return threads;
}

}  // namespace

Result<stacks::Collected> read_threads(const attach::Target& target,
                                       const ReadOptions& options,
                                       snapshot::Tables& tables,
                                       snapshot::ProcessCapture& process) {
  stacks::CollectOptions collect = static_cast<const stacks::CollectOptions&>(options);
  collect.mask_text = mask_text;
  // A coroutine may run something that other ranks wait for.
  collect.tasks = collect.tasks || runs_for_others(process.role);
  collect.visit_python = [&](const cpython::PythonProcess& python) {
    take_place(collectives::collect_groups(python, tables, process), process);
    process.exception = tables.string(cpython::last_exception(python));
    if (options.visit_python) {
      options.visit_python(python);
    }
  };
  process.communicates = process.communicates || ranks::communicates(target.maps());
  collect.keeps_words = [](std::string_view path) { return is_mpi(path) || is_jax(path); };
  ODDRANK_TRY(auto collected, stacks::collect_stacks(target, collect, tables, process));
  using collectives::JaxThread;
  using collectives::MpiThread;
  const auto in_mpi = threads_in<MpiThread>(target, is_mpi, collected.kept);
  collectives::collect_mpi_calls(target, in_mpi, tables, process);
  const auto in_jax = threads_in<JaxThread>(target, is_jax, collected.kept);
  collectives::collect_gloo_world(target, in_jax, tables, process);
  collectives::collect_gloo_transfers(target, collected.threads, tables, process);
  return collected;
}

}  // namespace oddrank::node
