// Reads from the names of libc's functions which call the thread waits in, and which inner lock of
// libc it waits for (the allocator's, the dynamic loader's). Works on plain data, after the frames
// have their names.
#pragma once

#include <string_view>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// Returns "malloc" for "__GI___libc_malloc" and "malloc@@GLIBC_2.2.5".
std::string_view bare_name(std::string_view name);

// Notes in a wait for a lock which inner lock of libc it is, and whether a read-write lock is
// wanted for reading or writing. If the call is for a lock without an owner (a condition variable,
// a semaphore), sets that kind and no longer reports a gone owner: what looked like an owner was
// other data.
void name_native_lock(const snapshot::ThreadCapture& thread,
                      snapshot::Tables& tables,
                      snapshot::Wait& wait);

}  // namespace oddrank::waits
