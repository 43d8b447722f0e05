// Recognises a thread that is frozen by its cgroup.
#pragma once

#include <string_view>

#include "snapshot/wait.h"

namespace oddrank::snapshot {

// Returns whether its kernel function and its state letter show that it is frozen:
// do_freezer_trap() of cgroup v2 (state S), mostly inlined into get_signal(), where nothing else
// sleeps in this state (seen on 6.18); __refrigerator() of v1 and of suspend (D). Since 6.1, v1
// leaves a sleeping thread where it is (D): then only the cgroup shows it.
inline bool sleeps_in_freezer(std::string_view wchan, char state) {
  return wchan.find("freezer") != std::string_view::npos ||
         wchan.find("refrigerator") != std::string_view::npos ||
         (wchan == "get_signal" && state == 'S');
}

// Returns whether the thread was found frozen, or sleeps where frozen threads do. `wchan` is the
// text of the wait's `wchan`.
inline bool is_frozen(const Wait& wait, std::string_view wchan, char state) {
  return wait.how == WaitHow::kFrozen || sleeps_in_freezer(wchan, state);
}

}  // namespace oddrank::snapshot
