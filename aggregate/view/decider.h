// Which thread of a rank speaks for it, and whether it moved between its samples.
#pragma once

#include <vector>

#include "aggregate/frames/frame_model.h"
#include "aggregate/view/job_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns the main thread, unless it waits for another thread that is in a call of a communication
// library, or that owns the lock and itself waits for something other than a thread of the process.
// If the main thread is idle (an event loop, a server, a wait for a signal), returns the thread
// that does the work. Null if no thread was read.
const snapshot::ThreadCapture* find_decider(const snapshot::ProcessCapture& process,
                                            FrameModel& model);

// Returns whether the thread sleeps or runs in code of the program. Such a thread waits for no
// other thread, whatever these do.
bool is_at_work(const snapshot::ThreadCapture& thread, FrameModel& model);

// Returns whether the thread, as this sample has it, sleeps until a clock wakes it: by its frames,
// or in a call that is for nothing else.
bool sleeps_in(const snapshot::ThreadCapture& thread,
               const snapshot::ThreadSample& sample,
               FrameModel& model);

// Returns whether the thread sleeps on purpose, for a time.
bool sleeps_on_purpose(const snapshot::ThreadCapture& thread, FrameModel& model);

// Returns whether the thread has slept and woken more than once between its samples.
bool keeps_waking(const snapshot::ThreadCapture& thread);

// Returns whether it waits in a loop that tries something until it succeeds. Each turn takes some
// time of the CPU; that, and what other threads do, does not end it.
bool waits_to_try_again(const snapshot::ThreadCapture& thread);

// Returns whether the thread, outside of calls and of Python, rests and goes on again and again: it
// sleeps and wakes, or yields, in at least half of its samples. It may look in between whether
// something has come that it waits for. What that is, native code does not tell; loops of Python
// are read (polling.h).
bool keeps_resting(const snapshot::ThreadCapture& thread, FrameModel& model);

// Returns whether the thread was in the same function of the program in all samples. A poll goes
// round there, and that is no motion.
bool stays_in_function(const snapshot::ThreadCapture& thread, FrameModel& model);

// Returns whether it waits for a pool none of whose workers gets on: each of the process's children
// stayed where it was, whether it waits or computes there. A library that looks after such a pool
// in a loop (datasets.map) wakes all the time.
bool waits_for_standing_pool(const snapshot::ThreadCapture& thread,
                             const SlimVector<const snapshot::ProcessCapture*>& children,
                             FrameModel& model);

// Returns the other threads that are in a call of a communication library for the program, not for
// the library itself.
SlimVector<const snapshot::ThreadCapture*> find_beside(const snapshot::ProcessCapture& process,
                                                       const snapshot::ThreadCapture& decider,
                                                       FrameModel& model);

// Returns whether the thread began after the first sample, and has not waited for long since: what
// it does is not what the rank did before.
bool has_begun_since(const snapshot::ProcessCapture& process,
                     const snapshot::ThreadCapture& thread);

// Measures it over all samples, or over those since it last ran, if that is long ago.
Motion measure_motion(const snapshot::ThreadCapture& thread, FrameModel& model);

}  // namespace oddrank::aggregate
