#include "node/cores/read_core.h"

#include <algorithm>
#include <csignal>
#include <string_view>
#include <utility>

#include "attach/core/core_target.h"
#include "base/base_name.h"
#include "base/secrets/mask_secrets.h"
#include "node/collect/read_recorders.h"
#include "node/note_setup.h"
#include "node/read_process.h"
#include "ranks/cores/core_crash.h"
#include "ranks/cores/core_process.h"
#include "snapshot/libraries/known_libraries.h"
#include "waits/node/collect_waits.h"

namespace oddrank::node {
namespace {

bool all_complete(const snapshot::Capture& capture, const snapshot::ProcessCapture& process) {
  return std::all_of(process.threads.begin(), process.threads.end(), [&](const auto& thread) {
    return thread.samples.empty() ||
           capture.tables.stack(thread.samples.back().stack).end == snapshot::StackEnd::kComplete;
  });
}

// Reads the flight recorders. They show the same moment as the stacks.
void add_record(const attach::Target& target,
                const cpython::PythonProcess& python,
                const snapshot::ProcessCapture& process,
                std::size_t newest,
                snapshot::Capture& capture) {
  cpython::PythonMemory memory = python.memory();
  elf::ModuleMap modules(target);
  auto record = read_recorders(target, modules, &memory, process, {newest, {}}, capture.tables);
  if (record) {
    capture.collectives.flight.push_back(*std::move(record));
  }
}

// Returns whether the C++ library called abort() in the thread: the innermost native frame outside
// of the C library is its own.
bool was_terminated(const snapshot::Tables& tables, const snapshot::ProcessCapture& process) {
  const auto thread =
      std::find_if(process.threads.begin(), process.threads.end(),
                   [&process](const auto& one) { return one.tid == process.crash->tid; });
  if (thread == process.threads.end() || thread->samples.empty()) {
    return false;
  }
  for (const snapshot::FrameId id : tables.stack(thread->samples.back().stack).frames) {
    const std::string_view module = tables.text(tables.frame(id).file);
    if (!snapshot::is_libc(module)) {
      return base_name(module).starts_with("libstdc++.so");
    }
  }
  return false;
}

}  // namespace

Result<snapshot::Capture> read_core(const std::string& path,
                                    const std::string& sysroot,
                                    const ReadOptions& options) {
  ODDRANK_TRY(const auto target, attach::CoreTarget::open(path, sysroot));
  snapshot::Capture capture;
  capture.job.source = snapshot::JobSource::kCore;
  ranks::CoreIdentity identity = ranks::identify_core(*target, capture.tables);
  snapshot::ProcessCapture& process = identity.process;
  ReadOptions with_recorders = options;
  with_recorders.visit_python = [&](const cpython::PythonProcess& python) {
    add_record(*target, python, process, options.newest_calls, capture);
  };
  process.crash = ranks::find_crash(*target, capture.tables);
  auto read = read_threads(*target, with_recorders, capture.tables, process);
  if (!read) {
    process.read = snapshot::ReadState::kNone;
    process.why = capture.tables.string(read.error().what);
  } else {
    if (process.crash->signal == SIGABRT && process.crash->message == snapshot::StringId{} &&
        was_terminated(capture.tables, process)) {
      process.crash.edit().message =
          capture.tables.string(mask_text(ranks::thrown_exception(*target)));
    }
    note_libraries(*target, capture.tables, process);
    process.is_rank = process.is_rank || process.rank >= 0;  // by its process group
    waits::collect_core_waits(*target, read->threads, read->python, capture.tables, process);
  }
  if (const std::string missing = ranks::describe_missing_files(*target); !missing.empty()) {
    if (process.read == snapshot::ReadState::kFull && !all_complete(capture, process)) {
      process.read = snapshot::ReadState::kPartial;
      process.why = capture.tables.string(missing);
    } else {
      identity.notes.push_back(missing);
    }
  }
  capture.nodes.emplace_back();
  capture.nodes.front().host = std::move(identity.host);
  capture.nodes.front().answered = true;
  capture.nodes.front().notes = std::move(identity.notes);
  capture.processes.push_back(std::move(process));
  return capture;
}

}  // namespace oddrank::node
