// A look at a CPython for readers outside of stacks/ that come without one: they know nothing of
// modules.
#pragma once

#include "attach/target.h"
#include "base/result.h"
#include "cpython/python_look.h"

namespace oddrank::cpython {

// Errors as PythonProcess::find. Opens the files of the interpreter anew, which takes milliseconds.
// `target` must outlive the look.
Result<PythonLook> look_at_python(const attach::Target& target);

}  // namespace oddrank::cpython
