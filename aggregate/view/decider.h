// Which thread of a rank speaks for it, and whether it moved between its samples.
#pragma once

#include <vector>

#include "aggregate/frames/frame_model.h"
#include "aggregate/view/job_view.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

// Returns the deciding thread: the main thread, or the thread that it waits for if that one is in a
// call of a communication library, or has the lock and waits for something other than a thread of
// the process. If the main thread is idle (an event loop, a server, a wait for a signal): the
// thread that its coroutine waits for, or that does the work. Null if no thread was read.
const snapshot::ThreadCapture* find_decider(const snapshot::ProcessCapture& process,
                                            FrameModel& model);

// Returns whether the thread sleeps or runs in code of the program. It then waits for no other
// thread.
bool is_at_work(const snapshot::ThreadCapture& thread, FrameModel& model);

// Returns whether the thread sleeps in this sample until a clock wakes it, by its frames or its
// system call.
bool sleeps_in(const snapshot::ThreadCapture& thread,
               const snapshot::ThreadSample& sample,
               FrameModel& model);

// Returns whether the thread sleeps on purpose, for a time.
bool sleeps_on_purpose(const snapshot::ThreadCapture& thread, FrameModel& model);

// Returns whether the thread is in wait4() or waitid(), which return as soon as a child is dead.
bool reaps_child(const snapshot::ThreadCapture& thread, const FrameModel& model);

// Returns whether the thread has slept and woken more than once between its samples.
bool keeps_waking(const snapshot::ThreadCapture& thread);

// Returns whether it has used the CPU since its first sample, for more than bookkeeping.
bool has_used_cpu(const snapshot::ThreadCapture& thread);

// Returns whether it waits in a loop that tries something until it succeeds. Each turn uses some
// CPU; neither that nor what other threads do ends the wait.
bool waits_to_try_again(const snapshot::ThreadCapture& thread);

// Returns whether the thread, outside of calls and of Python, sleeps and wakes or yields in at
// least half of its samples. It may poll for something in between; native code does not show for
// what (polling.h reads Python's loops).
bool keeps_resting(const snapshot::ThreadCapture& thread, FrameModel& model);

// Returns whether the thread was in the same function of the program in all samples. For a poll,
// that is no motion.
bool stays_in_function(const snapshot::ThreadCapture& thread, FrameModel& model);

// Returns whether it waits for a pool whose workers all stand: each child of the process stayed
// where it was, waiting or computing. A library that watches such a pool in a loop (datasets.map)
// wakes all the time.
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

// Measures the motion over all samples, or only since the thread last ran if that is long ago.
Motion measure_motion(const snapshot::ThreadCapture& thread, FrameModel& model);

}  // namespace oddrank::aggregate
