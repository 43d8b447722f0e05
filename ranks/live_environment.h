// The present environment of a process. /proc/PID/environ shows only where it was at the start:
// variables that the process has set since are missing, and setproctitle and its like overwrite
// that memory.
//
// libc keeps a pointer to the current array of variables, `environ` (POSIX; glibc 2.36 and musl 1.2
// also call it `__environ`). A program that uses it has its own copy of the pointer, which then
// counts (a copy relocation); a static program has it among its own symbols. If a static program
// has none, its writable memory is searched for a pointer to such an array.
#pragma once

#include "attach/proc_environ.h"
#include "attach/target.h"
#include "base/result.h"
#include "elf/module_map.h"

namespace oddrank::ranks {

// Returns the variables of attach::kept_variables(). Reads 16384 variables at most. kNotFound: no
// pointer to them was found. kBadData: the pointer leads to something else.
Result<attach::Environment> read_live_environment(const attach::Target& target,
                                                  elf::ModuleMap& modules);

}  // namespace oddrank::ranks
