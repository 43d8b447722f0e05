// Python objects as short text, for the locals of a frame. Nothing of the target is executed; only
// the contents of builtin types are read, to a small depth.
#pragma once

#include <string>

#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns 1207 · True · None · 0.5 · 'text' (escaped, cut at 80 characters with "...") · <bytes of
// 12> (1, 2) · [1, 2, ... 40 items] · <dict of 3> · <set of 2> · <int of 300 bits> · <ndarray (2,
// 3) float32>, see arrays.h · <Model> for every other type, except those of telling_types.h:
// <ProcessGroup at 0x7f31c0> or <P2POp op=<function at 0x7f3210> peer=3 group=<ProcessGroup at
// 0x7f31c0>> · <unreadable>.
std::string print_object(PythonMemory& memory, Addr object);

// Returns whether the object is a number, bool, None or str; subclasses of int and str count.
bool is_plain(PythonMemory& memory, Addr object);

// Returns whether the object has a type that shows the group of a collective (telling_types.h), or
// is a list or tuple that begins with such an object.
bool is_telling(PythonMemory& memory, Addr object);

}  // namespace oddrank::cpython
