#include "node/ask_process.h"

#include <utility>

#include "attach/live_target.h"
#include "collectives/collect_groups.h"
#include "elf/module_map.h"
#include "ranks/live_environment.h"
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
  snapshot::Capture none;
  snapshot::ProcessCapture process;
  process.pid = pid;
  stacks::CollectOptions collect;
  collect.stop = false;
  collect.visit_python = [&](const cpython::PythonProcess& python) {
    report.world = collectives::collect_groups(python, none.tables, process);
  };
  // A process without Python says nothing but its variables.
  static_cast<void>(stacks::collect_stacks(**target, collect, none.tables, process));
  return report;
}

}  // namespace oddrank::node
