#include "node/ask_process.h"

#include <utility>

#include "attach/live_target.h"
#include "collectives/collect_groups.h"
#include "elf/module_map.h"
#include "ranks/live_environment.h"
#include "ranks/mpi_world.h"
#include "ranks/process_activity.h"
#include "snapshot/capture.h"
#include "stacks/collect.h"

namespace oddrank::node {

ranks::SelfReport ask_process(pid_t pid) {
  ranks::SelfReport report;
  const auto target = attach::LiveTarget::open(pid);
  if (!target) {
    return report;
  }
  elf::ModuleMap modules(**target);
  if (auto environment = ranks::read_live_environment(**target, modules)) {
    report.environment = *std::move(environment);
  }
  report.communicates = ranks::communicates((*target)->maps());
  if (report.communicates) {  // Ray's library counts as one
    report.ray_session = ranks::ray_session_of(pid);
  }
  snapshot::Capture none;
  snapshot::ProcessCapture process;
  process.pid = pid;
  stacks::CollectOptions collect;
  collect.stop = false;
  collect.locals = cpython::Locals::kFew;
  collect.visit_python = [&](const cpython::PythonProcess& python) {
    report.world = collectives::collect_groups(python, none.tables, process);
  };
  static_cast<void>(stacks::collect_stacks(**target, collect, none.tables, process));
  if (report.world.by < ranks::ReportedBy::kMpi) {
    if (const auto world = ranks::read_mpi_world(**target, modules)) {
      report.world = *world;
    }
  }
  return report;
}

}  // namespace oddrank::node
