// Names of signals.
#pragma once

#include <string>

namespace oddrank {

// Returns "SIGTERM"; "signal 34" for a number that has no name.
std::string signal_name(int number);

}  // namespace oddrank
