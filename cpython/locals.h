// Fast locals of a frame: arguments and variables in source order, with the contents of cells. A
// module has none: its variables are its globals.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cpython/frame_chain.h"
#include "cpython/objects/contents.h"
#include "cpython/python_memory.h"
#include "cpython/python_process.h"

namespace oddrank::cpython {

inline constexpr std::size_t kMaxLocals = 64;        // of one frame
inline constexpr std::size_t kMaxShownLocals = 512;  // of one frame, if all are wanted

// Returns the currently bound locals. `plain_only`: only numbers, bools, None, texts and telling
// types (objects.h). If a name is a secret's (base/secrets/secret_names.h), its value is
// "<hidden>", unless only its type would be shown. Empty if the frame or its names cannot be read.
std::vector<PythonLocal> read_locals(PythonMemory& memory, const RawFrame& frame, bool plain_only);

// Returns the same with the contents of objects. If the frame has more than kMaxShownLocals, a last
// row "..." has the number of the others.
std::vector<PythonLocal> read_contents(PythonMemory& memory,
                                       const RawFrame& frame,
                                       ContentsPrinter& printer);

// Returns the named globals of the frame's module that are numbers, bools, None or texts, as
// read_locals does.
std::vector<PythonLocal> read_module_variables(PythonMemory& memory,
                                               const RawFrame& frame,
                                               std::span<const std::string> names);

// Returns the object that a variable refers to; null if there is no such variable, or it is not
// bound.
Addr read_local(PythonMemory& memory, const RawFrame& frame, std::string_view name);

// Returns the objects that the first kMaxLocals variables refer to, through their cells; only bound
// ones.
std::vector<Addr> read_local_values(PythonMemory& memory, const RawFrame& frame);

// Returns the strings that the frame's code names (256 at most): its globals and attributes. Python
// keeps one string of each such name, which is also the key in the dicts that have it.
std::vector<Addr> read_code_names(PythonMemory& memory, const RawFrame& frame);

// Returns the objects of the globals that the frame's code names (256 names at most). An attribute
// may have the same name as a global by chance.
std::vector<Addr> read_named_globals(PythonMemory& memory, const RawFrame& frame);

// Fetches the memory that read_locals will need for these frames, in a few system calls.
void prefetch_locals(PythonMemory& memory, std::span<const RawFrame> frames);

}  // namespace oddrank::cpython
