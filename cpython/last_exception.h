// The exception that ended a program: when CPython prints an uncaught exception (PyErr_PrintEx,
// Python 3.8 to 3.15), it stores the type in sys.last_type before it leaves the main program.
#pragma once

#include <string>

#include "cpython/python_process.h"

namespace oddrank::cpython {

// Returns the name of its type, "ValueError", as type_name does; "" if there was none, or it cannot
// be read. SystemExit is not kept. Exceptions of other threads, and of workers of multiprocessing,
// are printed without it; a library that prints an exception by the same function leaves its type
// here.
std::string last_exception(const PythonProcess& python);

}  // namespace oddrank::cpython
