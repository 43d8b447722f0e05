#include "node/read_threads.h"

#include <utility>
#include <vector>

#include "base/secrets/mask_secrets.h"
#include "collectives/collect_groups.h"
#include "collectives/mpi/mpi_calls.h"
#include "cpython/last_exception.h"
#include "ranks/process_conduct.h"

namespace oddrank::node {
namespace {

// Believes the process's own group before the variables with which it was started.
void take_place(const ranks::ToldWorld& told, snapshot::ProcessCapture& process) {
  if (told.by != ranks::ToldBy::kGroup || !told.told()) {
    return;
  }
  process.local_rank = process.rank == told.rank ? process.local_rank : -1;
  process.rank = told.rank;
  process.world_size = told.world_size;
}

std::vector<collectives::MpiThread> threads_in_mpi(std::vector<stacks::KeptFrames>& kept) {
  std::vector<collectives::MpiThread> threads;
  for (stacks::KeptFrames& of_thread : kept) {
    collectives::MpiThread& thread = threads.emplace_back();
    thread.tid = of_thread.tid;
    for (unwind::NativeFrame& frame : of_thread.frames) {
      thread.frames.push_back(std::move(frame.words));
    }
  }
  return threads;
}

}  // namespace

Result<stacks::Collected> read_threads(const attach::Target& target,
                                       const ReadOptions& options,
                                       snapshot::Tables& tables,
                                       snapshot::ProcessCapture& process) {
  stacks::CollectOptions collect;
  collect.native = options.native;
  collect.python = options.python;
  collect.stop = options.stop;
  collect.locals = options.locals ? cpython::Locals::kAll : collect.locals;
  collect.contents = options.contents;
  collect.tasks = options.tasks;
  collect.mask_text = mask_text;
  collect.before_stop = options.before_stop;
  collect.visit_python = [&](const cpython::PythonProcess& python) {
    take_place(collectives::collect_groups(python, tables, process), process);
    process.exception = tables.string(cpython::last_exception(python));
    if (options.visit_python) {
      options.visit_python(python);
    }
  };
  process.communicates = process.communicates || ranks::communicates(target.maps());
  collect.keeps_words = collectives::is_mpi_module;
  ODDRANK_TRY(auto collected, stacks::collect_stacks(target, collect, tables, process));
  collectives::collect_mpi_calls(target, threads_in_mpi(collected.kept), tables, process);
  return collected;
}

}  // namespace oddrank::node
