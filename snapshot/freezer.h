// How a thread that its cgroup has frozen shows.
#pragma once

#include <string_view>

namespace oddrank::snapshot {

// By where it sleeps in the kernel and its state letter: do_freezer_trap() of cgroup v2 (state S),
// which compilers mostly put into get_signal(), where nothing else sleeps in this state (seen on
// 6.18); __refrigerator() of v1 and of suspend (D). Since 6.1 that of v1 leaves a thread where it
// sleeps (D): then only the cgroup tells.
inline bool sleeps_in_freezer(std::string_view wchan, char state) {
  return wchan.find("freezer") != std::string_view::npos ||
         wchan.find("refrigerator") != std::string_view::npos ||
         (wchan == "get_signal" && state == 'S');
}

// How the detail of a frozen thread's wait begins, whichever way it was found out.
inline constexpr std::string_view kFrozen = "frozen by its cgroup";

// By that detail, or by where the thread sleeps.
inline bool is_frozen(std::string_view detail, std::string_view wchan, char state) {
  return detail.starts_with(kFrozen) || sleeps_in_freezer(wchan, state);
}

}  // namespace oddrank::snapshot
