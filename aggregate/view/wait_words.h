// Waits, calls and processes in words: the pieces that sentences of the report are made of.
#pragma once

#include <string>

#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"
#include "snapshot/collective_call.h"
#include "snapshot/wait.h"

namespace oddrank::aggregate {

// "default group", "group tp#3", "an unknown group".
std::string group_words(const JobView& view, const snapshot::CollectiveCall& call);

// "all_reduce in default group", "recv from rank 3", "rendezvous (init_process_group)".
std::string call_words(const JobView& view, const snapshot::CollectiveCall& call);

// What the kernel says a thread is in: "read() of /data/shard-7.tar (state D in nfs_wait)"; "" if
// nothing is known.
std::string system_call_words(const JobView& view,
                              const snapshot::ThreadCapture& thread,
                              bool with_wchan);

// "DataLoader worker", "child process".
std::string child_words(const JobView& view, const snapshot::ProcessCapture& child);

// "rank 3", or what child_words says.
std::string process_words(const JobView& view, const snapshot::ProcessCapture& process);

// What a process that others wait for is doing, to follow "which ": "is stuck in read() of /x",
// "is dead (zombie, killed by signal 9)", "is stopped (state T)".
std::string stuck_words(const JobView& view, const snapshot::ProcessCapture& process);

// "exit code 3", "killed by signal 9", "" if unknown; of /proc/PID/stat's field 52 (wait status).
std::string exit_words(std::int32_t exit_code);

// What a rank does, in few words, for its group's title.
std::string phase_of(const JobView& view, const RankView& rank);

// For threads in lists: "in futex wait", "runs", "waits for a lock held by tid 71".
std::string thread_wait_words(const JobView& view,
                              const snapshot::ProcessCapture& process,
                              const snapshot::ThreadCapture& thread);

// The evidence for a thread's wait: what the capture notes of it, or for a lock without an owner
// what the library says that waits ("waits for a threading.Event, with a time limit").
std::string wait_detail(const JobView& view, const snapshot::ThreadCapture& thread);

// The process that a rank waits for, if its wait names one that was captured and is not the rank
// itself; null otherwise.
const snapshot::ProcessCapture* awaited_process(const JobView& view,
                                                const snapshot::ProcessCapture& process);

// The rank waits for its input pipeline: by its wait, or by its frames where the wait says no more
// than that it waits for a pipe, a lock, a child or something unknown.
bool waits_for_input(const JobView& view, const RankView& rank);

// The thread of a process whose wait decides for it: a rank's leader, a child's main thread.
const snapshot::ThreadCapture* deciding_thread(const JobView& view,
                                               const snapshot::ProcessCapture& process);

WaitsFor waits_for(const JobView& view, const RankView& rank);

}  // namespace oddrank::aggregate
