// Notes that other programs take the CPUs that a node's ranks want.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "snapshot/capture.h"

namespace oddrank::waits {

// `loadavg`: the text of /proc/loadavg. Returns "the load is 37.2 on 8 CPUs, and threads of 2 ranks
// want to run" if the average of the last minute is at least twice the number of CPUs, and a thread
// of a rank was found runnable in a sample; "" otherwise. A load that keeps no rank waiting is not
// noted: the load also counts threads in state D.
std::string load_note(std::string_view loadavg, std::size_t cpus, const snapshot::Capture& capture);

}  // namespace oddrank::waits
