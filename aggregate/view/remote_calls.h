// Calls that a thread of another process answers: torch.distributed.rpc, gRPC, Ray. One rank waits
// for the answer, and a thread of another rank runs the function for it. That thread holds the
// caller up, whatever the main thread of its rank waits in.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "aggregate/frames/frame_model.h"
#include "aggregate/view/rank_view.h"
#include "snapshot/collective_state.h"
#include "snapshot/process_capture.h"

namespace oddrank::aggregate {

class JobView;

// Returns what the answer is that the thread waits for ("an RPC"); nullopt if it waits for none.
std::optional<std::string_view> remote_call(FrameModel& model,
                                            const snapshot::ThreadCapture& thread);

// Returns the thread of the rank that runs a function for a caller of `call` (see above). The first
// of several at the same place; without one, a coroutine's (coroutines.h). Null: none does, or
// several do at different places.
const snapshot::ThreadCapture* serving_thread(FrameModel& model,
                                              const RankView& rank,
                                              std::string_view call);

// Returns whether the thread waits for the next item in an event loop, or in a loop that runs
// functions for others.
bool waits_for_work(FrameModel& model, const snapshot::ThreadCapture& thread);

// Returns whether the thread is in a loop that runs functions for others, and runs none now.
bool waits_to_serve(FrameModel& model, const snapshot::ThreadCapture& thread);

// Returns whether the thread runs a function for a caller.
bool runs_function(FrameModel& model, const snapshot::ThreadCapture& thread);

// Returns whether the rank's deciding thread waits for an answer that the rank itself does not owe:
// it runs no function for such callers, or is known to have asked others (AskedObjects).
bool asks_another_process(FrameModel& model, const RankView& rank);

// A rank that waits for an answer, and the threads that may owe it.
struct RemoteWait {
  std::size_t caller = 0;                           // an index into the ranks
  const snapshot::ThreadCapture* thread = nullptr;  // of the caller
  struct Server {
    std::size_t rank = 0;
    const snapshot::ThreadCapture* thread = nullptr;
  };
  std::vector<Server> servers;
  // Requests for resources that are not free, without which the caller's function cannot begin.
  // Then the servers are those that have some of these resources and run a function.
  std::vector<const snapshot::ResourceRequest*> wants;
};

// Finds the threads that owe the answers. If several run functions and all but one of them wait for
// another's answer, every path ends at that one, and all are listed. If more than one does
// something of its own, or a rank was not read, none is listed, since it is not known which one
// owes the answer. An actor that the caller has not asked is not listed. `requests`: the job's.
std::vector<RemoteWait> find_remote_waits(FrameModel& model,
                                          const std::vector<RankView>& ranks,
                                          const std::vector<snapshot::ResourceRequest>& requests);

// Returns the ranks that wait for an answer and have got or asked for another one since the first
// sample: all processes that may owe it move, and one of them was seen at work and at rest. These
// are the processes that the rank has started, or all, if no other rank waits for such an answer.
std::vector<std::size_t> find_givers(FrameModel& model, const std::vector<RankView>& ranks);

// Returns the threads and coroutines of `server` that use the waiter's connection and do not wait
// there for what the waiter sends: they owe the answer.
std::vector<const snapshot::ThreadCapture*> keepers_of(const JobView& view,
                                                       const snapshot::ProcessCapture& process,
                                                       const snapshot::Wait& waiter,
                                                       const snapshot::ProcessCapture& server);

// Returns whether a coroutine of `server` waits at the waiter's connection for what the waiter
// sends: then a message was lost, or is not due.
bool is_read_at_other_end(const JobView& view,
                          const snapshot::ProcessCapture& process,
                          const snapshot::Wait& waiter,
                          const snapshot::ProcessCapture& server);

}  // namespace oddrank::aggregate
