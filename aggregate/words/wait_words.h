// Waits, calls and processes in words: the pieces of which the report's sentences are made.
#pragma once

#include <string>

#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"
#include "aggregate/words/wait_sentence.h"
#include "snapshot/collective_call.h"
#include "snapshot/wait.h"

namespace oddrank::aggregate {

// Returns "default group", "group tp#3" or "an unknown group".
std::string group_words(const JobView& view, const snapshot::CollectiveCall& call);

// Returns "all_reduce in default group", "recv from rank 3" or "rendezvous (init_process_group)".
std::string call_words(const JobView& view, const snapshot::CollectiveCall& call);

// Returns what the kernel says a thread is in: "read() of /data/shard-7.tar (state D in nfs_wait)";
// "" if nothing is known.
std::string system_call_words(const JobView& view,
                              const snapshot::ThreadCapture& thread,
                              bool with_wchan);

// Returns whether the system call that the thread waits in writes.
bool is_writing(const JobView& view, const snapshot::Wait& wait);

// Returns "DataLoader worker", "process pool worker" or "child process".
std::string child_words(const JobView& view, const snapshot::ProcessCapture& child);

// Returns "rank 3", or the result of child_words.
std::string process_words(const JobView& view, const snapshot::ProcessCapture& process);

// Returns "the result of its work" if the thread waits for a future that another one completes;
// else "".
std::string_view future_words(const snapshot::Wait& wait);

// Returns what the thread waits for in another one: "the GIL", "its end", "the lock at 0x55d0c0",
// "what comes from its own process".
std::string awaited_thing(const snapshot::ThreadCapture& thread);

// Returns "thread 71 (feeder)".
std::string thread_words(const JobView& view, const snapshot::ThreadCapture& thread);

// Returns " (cat /data/x)": the command of a child, if it is no Python program and differs from its
// parent's; else "".
std::string command_words(const JobView& view, const snapshot::ProcessCapture& child);

// Follows waits for children from this process on; returns the last one, itself if it waits for no
// child.
const snapshot::ProcessCapture& last_child(const JobView& view,
                                           const snapshot::ProcessCapture& process);

// Returns what a process does that others wait for, to follow "which ": "is stuck in read() of /x",
// "is dead (zombie, killed by signal 9)", "is stopped (state T)", "waits for its child process pid
// 71 (cat /x), which is stuck in ...".
std::string stuck_words(const JobView& view, const snapshot::ProcessCapture& process);

// Returns "waits for a lock in load (train.py:61)", "sleeps in ...", "runs ..."; "" if only the
// place is known. Precondition: the rank has a decider.
std::string wait_phase(const JobView& view, const RankView& rank);

// Returns in few words what a rank does, for its group's title.
std::string phase_of(const JobView& view, const RankView& rank);

// Returns a thread's wait for lists: "in futex wait", "runs", "waits for a lock held by tid 71".
std::string thread_wait_words(const JobView& view,
                              const snapshot::ProcessCapture& process,
                              const snapshot::ThreadCapture& thread);

// Returns the evidence for a thread's wait: its sentence. For a lock without an owner it begins
// with the words of the waiting library ("waits for a threading.Event, with a time limit").
std::string wait_detail(const JobView& view,
                        const snapshot::ProcessCapture& process,
                        const snapshot::ThreadCapture& thread);

// Returns whether the rank is frozen by its cgroup.
bool is_frozen(const JobView& view, const RankView& rank);

// Returns the process that a rank waits for, if its wait names one that was captured and is not the
// rank itself; null otherwise.
const snapshot::ProcessCapture* awaited_process(const JobView& view,
                                                const snapshot::ProcessCapture& process);

// Returns whether the rank waits for its input pipeline: by its wait, or by its frames if it waits
// for a pipe, a lock, a child or something unknown.
bool waits_for_input(const JobView& view, const RankView& rank);

// Returns the thread whose wait decides for the process: a rank's decider, a child's main thread.
const snapshot::ThreadCapture* deciding_thread(const JobView& view,
                                               const snapshot::ProcessCapture& process);

// Returns the wait of the rank's decider for Culprit::waits_for.
WaitsFor waits_for(const JobView& view, const RankView& rank);

}  // namespace oddrank::aggregate
