// detect_runtime() for readers outside of stacks/, which know nothing of modules.
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "stacks/cpython/detect.h"

namespace oddrank::stacks::cpython {

// The same errors. Opens the files of the interpreter anew: once for each look at a process.
Result<Runtime> find_runtime(const attach::Target& target);

}  // namespace oddrank::stacks::cpython
