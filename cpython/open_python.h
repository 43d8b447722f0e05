// Finds and samples the CPython of a target, for readers that have no module map of it.
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "cpython/python_sample.h"

namespace oddrank::cpython {

// Returns one sample of all threads. Opens the files of the interpreter anew, which takes
// milliseconds. Errors as PythonProcess::find. `target` must outlive the sample.
Result<PythonSample> open_python(const attach::Target& target);

}  // namespace oddrank::cpython
