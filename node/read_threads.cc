#include "node/read_threads.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/secrets/mask_secrets.h"
#include "collectives/collect_groups.h"
#include "collectives/gloo_world.h"
#include "collectives/mpi/mpi_calls.h"
#include "collectives/torch/gloo_transfers.h"
#include "cpython/last_exception.h"
#include "ranks/process_activity.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::node {
namespace {

using snapshot::Library;

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
