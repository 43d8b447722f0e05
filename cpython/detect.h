// Finds the CPython runtime of a target: its module, `_PyRuntime`, the version and the layout.
//
// Candidates are modules with a name like Python's and the program itself (a Python may be linked
// into it), then modules of any name with the runtime's section or symbol. A name proves nothing: a
// candidate is accepted only if its first thread state points back to its interpreter. A file may
// be mapped twice (ctypes does), and a process may have two different libpythons: each is tried.
// The first that passes is taken, if possible one that runs Python code; the others are listed.
// Nothing of the target is executed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"
#include "elf/elf_image.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

struct Runtime {
  Addr address{};  // of _PyRuntime; in 3.6, of its lowest variable
  // It had interpreters, and has none now (thread_state.h).
  bool finalized = false;
  Version version;
  Layout layout;
  std::string name;                 // "3.9.2 of /opt/libpython3.9.so"
  std::vector<std::string> others;  // of further Pythons in the process
  Addr hash_secret{};               // of _Py_HashSecret; null if the file does not name it
  // Finds the code of _PyEval_EvalFrameDefault and its parts, absolute: searches the module's
  // symbols and code, which most readers of objects do not need. Valid as long as the ModuleMap.
  std::function<std::vector<elf::ElfRange>()> evaluation_ranges;
};

// Finds the first candidate that passes, else one that was finalized. kNotFound: there is no
// CPython. kUnsupported: its version is unknown here; `what` names it. kBadData: it cannot be read
// now (it starts up or shuts down).
Result<Runtime> detect_runtime(const attach::Target& target, elf::ModuleMap& modules);

}  // namespace oddrank::cpython
