// The interpreters of a runtime, their thread states and GILs, and the threads that hold these.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/result.h"
#include "cpython/python_memory.h"

namespace oddrank::cpython {

// If there are more, the newest are read and the oldest: the main interpreter, and in it the main
// thread.
inline constexpr std::size_t kMaxInterpreters = 256;
inline constexpr std::size_t kMaxThreads = 4096;  // of all interpreters together

struct InterpreterRow {
  Addr address{};
  std::int64_t id = 0;          // 0 is the main one
  Addr gil{};                   // null: not found
  bool gil_enabled = true;      // false: a free-threaded build that runs without it
  Addr collecting{};            // where it stores that garbage is collected; null if unknown
  bool collects = false;        // garbage: one of its threads does
  std::int8_t generation = -1;  // that is collected; -1 = none, or unknown
};

struct ThreadStateRow {
  Addr address{};
  std::size_t interpreter = 0;         // index into ThreadStates::interpreters
  Addr newest_frame{};                 // null: it runs no Python code
  std::uint64_t pthread = 0;           // pthread_t
  std::uint64_t native_thread_id = 0;  // stored by CPython; 0 if the version does not store it
  bool holds_gil = false;
  bool collects = false;   // garbage; false also if several threads may be collecting
  bool finalizes = false;  // it shuts the runtime down
  Addr native_anchor{};    // 3.11, 3.12: an address on its native stack; the lower, the newer
};

struct ThreadStates {
  std::vector<InterpreterRow> interpreters;  // newest first; the main one is the last
  std::vector<ThreadStateRow> threads;
  std::size_t left_out = 0;  // threads
};

// Returns all interpreters, newest first; at most kMaxInterpreters and the main one. Cycles are
// cut.
std::vector<InterpreterRow> read_interpreters(PythonMemory& memory, Addr runtime);

inline constexpr std::uint32_t kGenerations = 3;
inline constexpr std::uint64_t kGenerationSize = 24;  // bytes of struct gc_generation, 3.8+

// Returns the address of the collector's generations; null if it is not known. Their place differs
// by 4 bytes between builds of one version (3.13.0 and 3.13.5), so two of the three must be lists
// that lead back to themselves. (The one that is being collected may not.)
Addr find_generations(PythonMemory& memory, Addr collecting);

// Returns all thread states in the order of CPython's lists (newest first in each interpreter).
// Lists that are longer than the limits (which keep their oldest state), or cyclic, are cut.
// kBadData if the first thread state does not point back to its interpreter: then `runtime` is not
// a runtime with this layout.
Result<ThreadStates> read_thread_states(PythonMemory& memory, Addr runtime);

// Succeeds if some thread state points back to its interpreter; else fails in the same way. Reads
// only the first ones.
Status check_thread_states(PythonMemory& memory, Addr runtime);

// Returns whether the runtime had interpreters, and has none now: Py_Finalize has deleted the last
// one, and only native code runs (exit handlers, destructors, a program that embedded Python).
bool is_finalized(PythonMemory& memory, Addr runtime);

// Returns the thread state that holds the GIL of an interpreter; null if none does.
Addr gil_holder(PythonMemory& memory, Addr runtime, const InterpreterRow& interpreter);

}  // namespace oddrank::cpython
