// Threads that run greenlets (gevent, eventlet). All greenlets of a thread share its native stack,
// but Python only knows the frames of the one that runs. The evaluation loops further out belong to
// greenlets that are parked.
//
// Limit: the frames of parked greenlets are not read, and native frames beyond the start of the
// running one may be left over from another greenlet that began there.
#pragma once

#include <optional>
#include <vector>

#include "snapshot/frame.h"
#include "snapshot/tables.h"

namespace oddrank::stacks {

// Returns the native frames so that no evaluation loop beyond the start of the running greenlet
// counts; a row "<parked greenlets>" precedes those loops. nullopt if there is none.
std::optional<std::vector<snapshot::Frame>> apart_from_parked(std::vector<snapshot::Frame> native,
                                                              snapshot::Tables& tables);

}  // namespace oddrank::stacks
