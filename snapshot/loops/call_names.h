// Classifies the calls in a loop (python_loop.h) by their names: those that rest, and those that do
// nothing that matters. The names are those of Python's standard library and of torch.distributed.
#pragma once

#include <string_view>

namespace oddrank::snapshot {

// Returns whether calls of this name let time pass: sleep, select, join, ...
bool call_rests(std::string_view name);

// Returns whether calls of this name neither do work nor query anything: they read clocks, format
// text and numbers, write logs, or create an error to raise.
bool call_is_idle(std::string_view name);

}  // namespace oddrank::snapshot
