// glibc's struct pthread (nptl/descr.h), which begins with what the machine's thread control block
// needs.
#pragma once

#include <cstdint>

#include "attach/target.h"

namespace oddrank::waits {

// Where the thread's own number is.
std::uint64_t tid_in_descriptor();

// Returns whether what is at the address looks like the descriptor of a thread.
bool is_thread_descriptor(const attach::Target& target, std::uint64_t address);

}  // namespace oddrank::waits
