// Tells files that show the end of a process from files that bring data: a supervisor that waits
// for its children to end asks them for nothing.
#pragma once

#include "waits/python/python_waits.h"

namespace oddrank::waits {

// Marks the pipes that multiprocessing.connection.wait has as `sentinel` of a process (CPython 3.8
// to 3.15).
void read_process_ends(PythonWaits& all);

}  // namespace oddrank::waits
