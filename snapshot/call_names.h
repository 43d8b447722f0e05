// What the names of the calls in a loop say (python_loop.h): whether the loop rests there, or does
// nothing that matters. Names of Python's standard library and of torch.distributed.
#pragma once

#include <string_view>

namespace oddrank::snapshot {

// Returns whether calls of this name let time pass: sleep, select, join, ...
bool call_rests(std::string_view name);

// Returns whether calls of this name neither work nor ask for anything: they read clocks, handle
// texts and numbers, write logs, or make an error to raise.
bool call_is_idle(std::string_view name);

}  // namespace oddrank::snapshot
