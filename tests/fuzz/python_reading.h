// Everything that is read of a Python process's memory, for the fuzz target and for the program
// that makes its corpus.
#pragma once

#include <string>
#include <vector>

#include "attach/target.h"
#include "cpython/detect.h"
#include "elf/module_map.h"

namespace oddrank::fuzz {

// Reads threads with all locals and loops, tasks, locks and futures, process groups. Returns all of
// it as text.
std::string read_python(const attach::Target& target,
                        elf::ModuleMap& modules,
                        const cpython::Runtime& runtime,
                        const std::vector<attach::ThreadState>& states);

// The input: version, thread states, then the memory (memory_image.h).
std::string write_python_head(const cpython::Runtime& runtime,
                              const std::vector<attach::ThreadState>& states);

}  // namespace oddrank::fuzz
