// glibc's struct pthread (nptl/descr.h), which begins with the machine's thread control block.
#pragma once

#include <cstdint>

#include "attach/target.h"

namespace oddrank::waits {

// Returns the offset of the thread's own number.
std::uint64_t tid_in_descriptor();

// Returns whether what is at the address looks like the descriptor of a thread.
bool is_thread_descriptor(const attach::Target& target, std::uint64_t address);

}  // namespace oddrank::waits
