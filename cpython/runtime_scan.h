// Finds the `_PyRuntime` of a file without symbols and sections in the module's writable memory.
// The last resort: reads several megabytes.
#pragma once

#include "attach/target.h"
#include "cpython/python_memory.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

using attach::Addr;

// Finds the cookie of `_Py_DebugOffsets`, for 3.13 and later; null if there is none.
Addr scan_for_cookie(const attach::Target& target, const elf::Module& module);

// For versions up to 3.12, finds two neighbouring words, the head of the list of interpreters and
// the main interpreter, each of which has a thread state that points back; null if there are none.
Addr scan_for_interpreters(PythonMemory& memory, const elf::Module& module);

}  // namespace oddrank::cpython
