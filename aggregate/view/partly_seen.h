// Whether an agent may have seen only a part of its machine, as in a container: that a rank has no
// process there does not show that it is gone.
#pragma once

#include <string_view>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Returns whether an address without its port, or a name, is of the loopback network.
bool is_loopback(std::string_view host);

// Returns whether a rank is the first process of its agent's pid namespace (a container of one
// rank), or has a connection within the machine that no process has open at its other end: one that
// it waits for, or one with the store at which the ranks meet.
bool is_partly_seen(const JobView& view);

}  // namespace oddrank::aggregate
