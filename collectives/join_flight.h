// Joins the dumps of flight recorders to the calls that threads are in: the number of a call within
// its group, which frames do not tell; its group, where the frames do not tell it either; and the
// call itself of a rank that only waits for its device.
//
// A dump may be old: a job that was asked for one while it was well hangs an hour later in the same
// line, with other numbers. So an entry counts only if it stood still itself: the dump was written
// after the last look at the rank began and the entry was open before that, or the entry had been
// open for five minutes when the dump was written.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::collectives {

// Fills `sequence` (and `group`, `members` where unknown) of ThreadCapture::call from
// Capture::collectives, where the dump's oldest open entry of that group has the call's operation.
// May be called again after more dumps were added. Precondition: find_calls (find_calls.h).
void join_flight(snapshot::Capture& capture);

// That operation of a recorder ("_all_gather_base") as torch.distributed's function; "" if unknown.
std::string_view function_of_recorded(std::string_view op);
// A call by that function is what a recorder calls so.
bool is_recorded_as(std::string_view function, std::string_view op);

}  // namespace oddrank::collectives
