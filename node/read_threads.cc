#include "node/read_threads.h"

#include "base/mask_secrets.h"
#include "collectives/collect_groups.h"
#include "cpython/last_exception.h"

namespace oddrank::node {

Result<stacks::Collected> read_threads(const attach::Target& target,
                                       const ReadOptions& options,
                                       snapshot::Tables& tables,
                                       snapshot::ProcessCapture& process) {
  stacks::CollectOptions collect;
  collect.native = options.native;
  collect.python = options.python;
  collect.stop = options.stop;
  collect.locals = options.locals ? cpython::Locals::kAll : collect.locals;
  collect.tasks = options.tasks;
  collect.mask_text = mask_text;
  collect.visit_python = [&](const cpython::PythonProcess& python) {
    collectives::collect_groups(python, tables, process);
    process.exception = tables.string(cpython::last_exception(python));
  };
  return stacks::collect_stacks(target, collect, tables, process);
}

}  // namespace oddrank::node
