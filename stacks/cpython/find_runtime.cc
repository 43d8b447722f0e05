#include "stacks/cpython/find_runtime.h"

#include "stacks/module_map.h"

namespace oddrank::stacks::cpython {

Result<Runtime> find_runtime(const attach::Target& target) {
  ModuleMap modules(target);
  return detect_runtime(target, modules);
}

}  // namespace oddrank::stacks::cpython
