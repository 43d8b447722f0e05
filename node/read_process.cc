#include "node/read_process.h"

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attach/in_memory_target.h"
#include "attach/live_target.h"
#include "attach/proc_task.h"
#include "base/clock_us.h"
#include "base/printable.h"
#include "collectives/torch/store_contents.h"
#include "node/files/silent_files.h"
#include "node/note_setup.h"
#include "node/read_outside.h"
#include "node/read_threads.h"
#include "snapshot/carrier.h"
#include "waits/node/collect_waits.h"
#include "waits/node/quiet_times.h"
#include "waits/node/written_bytes.h"

namespace oddrank::node {
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

}  // namespace oddrank::node
