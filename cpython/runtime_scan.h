// `_PyRuntime` of a file without symbols and sections: looked for in the module's writable memory.
// The last resort: reads some megabytes.
#pragma once

#include "attach/target.h"
#include "cpython/layouts/layout.h"
#include "elf/module_map.h"

namespace oddrank::cpython {

using attach::Addr;

// From 3.13 on: the cookie of `_Py_DebugOffsets`. Null if it is not there.
Addr scan_for_cookie(const attach::Target& target, const elf::Module& module);

// Up to 3.12: two words side by side, the head of the list of interpreters and the main one, each
// of which has a thread state that points back. Null if there are none.
Addr scan_for_interpreters(const attach::Target& target,
                           const elf::Module& module,
                           const Layout& layout);

}  // namespace oddrank::cpython
