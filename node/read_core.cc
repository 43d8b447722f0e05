#include "node/read_core.h"

#include <algorithm>
#include <utility>

#include "attach/core/core_target.h"
#include "node/note_setup.h"
#include "node/read_threads.h"
#include "node/sources/read_recorders.h"
#include "ranks/core_crash.h"
#include "ranks/core_process.h"
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
