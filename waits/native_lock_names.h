// What the names of libc's functions say about a lock: which call the thread waits in, and whose
// inner lock it is (the allocator's, the dynamic loader's). Works on plain data, when the frames
// have their names.
#pragma once

#include <string_view>

#include "snapshot/tables.h"
#include "snapshot/thread_capture.h"

namespace oddrank::waits {

// "malloc" for "__GI___libc_malloc" and "malloc@@GLIBC_2.2.5".
std::string_view bare_name(std::string_view name);

// Whether a file is the C library, or what belongs to it: its loader, its threads.
bool is_libc(std::string_view path);

// Adds to a wait for a lock which inner lock of libc it is, and whether a read-write lock is to be
// read or written. Where the call is one without an owner (a condition variable, a semaphore), sets
// that kind, and takes back that the owner were gone: what looked like one was other data.
void name_native_lock(const snapshot::ThreadCapture& thread,
                      snapshot::Tables& tables,
                      snapshot::Wait& wait);

}  // namespace oddrank::waits
