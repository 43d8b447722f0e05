// Joins the dumps of flight recorders to the calls that threads are in. A dump adds the number of a
// call within its group, its group if the frames do not show it, and the call itself (also a send
// or receive) of a rank that only waits for its device.
//
// A dump may be old: a healthy job may write one and hang an hour later in the same line, with
// other numbers. So an entry counts only if it was itself stuck: the dump was written after the
// rank's last sample began, and the entry was open before that; or it had been open for five
// minutes when the dump was written.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::collectives {

// Fills `sequence` (and `group`, `members` if unknown) of ThreadCapture::call from
// Capture::collectives, if the dump's oldest open entry of that group has the call's operation. May
// be called again after more dumps were added. Precondition: find_calls (find_calls.h).
void join_flight(snapshot::Capture& capture);

// Returns torch.distributed's function for a recorder's operation ("_all_gather_base"); "":
// unknown.
std::string_view function_of_recorded(std::string_view op);
// Returns whether a recorder uses that name for the function's operation.
bool is_recorded_as(std::string_view function, std::string_view op);

}  // namespace oddrank::collectives
