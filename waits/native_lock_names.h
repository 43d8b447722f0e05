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

// How the detail of a wait for the allocator's lock ends.
inline constexpr std::string_view kAllocatorLock = "the allocator's lock";

// Adds "in malloc(): the allocator's lock" and the like to the detail of a wait for a lock. Where
// the call is one without an owner (a condition variable, a semaphore), says so, and takes back
// that the owner were gone: what looked like one was other data.
void name_native_lock(const snapshot::ThreadCapture& thread,
                      snapshot::Tables& tables,
                      snapshot::Wait& wait);

}  // namespace oddrank::waits
