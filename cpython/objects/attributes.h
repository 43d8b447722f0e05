// Reads attributes of instances and modules, in all forms in which CPython stores them. Nothing of
// the target is executed, so properties and class attributes are not seen.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "cpython/objects/dicts.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

// Returns the instance's own attributes; empty if it has none or they cannot be read.
std::vector<DictItem> read_attributes(PythonMemory& memory, Addr object);

// Returns the value of one attribute; null if the instance does not have it. Slots are not seen.
Addr read_attribute(PythonMemory& memory, Addr object, std::string_view name);

// Returns the same of an attribute that may be a slot of its class or of a base (`__slots__`).
Addr read_slot_or_attribute(PythonMemory& memory, Addr object, std::string_view name);

// Fetches the memory that read_attributes will need for these objects, in a few system calls.
void prefetch_attributes(PythonMemory& memory, std::span<const Addr> objects);

// Returns the dict of a module's global names; null if `module` is not a module.
Addr dict_of_module(PythonMemory& memory, Addr module);

// Returns the value of a module's global name; null if it has none, or `module` is not a module.
Addr find_global(PythonMemory& memory, Addr module, std::string_view name);

// Returns sys.modules[name] of an interpreter; null if the module was not imported.
Addr find_module(PythonMemory& memory, Addr interpreter, std::string_view name);

}  // namespace oddrank::cpython
