// Finds the CPython runtime of a target: its module, `_PyRuntime`, the version and the layout.
//
// Candidates are the modules that are named like a Python, and the program itself (which may have
// one linked in). A name proves nothing: a candidate counts only if its first thread state points
// back to its interpreter. A file may be mapped twice (ctypes does), and two different libpythons
// are legal: each is tried, the first that passes is taken. Nothing of the target is executed.
#pragma once

#include <cstdint>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"
#include "elf/elf_image.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

struct Runtime {
  Addr address{};  // of _PyRuntime
  Version version;
  Layout layout;
  // Code of _PyEval_EvalFrameDefault and its parts, absolute.
  std::vector<elf::ElfRange> evaluation_ranges;
};

// kNotFound: no CPython. kUnsupported: one whose version is not known here; `what` names it.
// kBadData: one that cannot be followed now (it starts up or shuts down).
Result<Runtime> detect_runtime(const attach::Target& target, elf::ModuleMap& modules);

}  // namespace oddrank::cpython
