// Calls that a thread of another process answers: torch.distributed.rpc, gRPC, Ray. One rank waits
// for the answer, and a thread of another rank runs the function for it. That thread is a strand of
// its rank beside the main thread: it holds the caller up, whatever the main thread waits in.
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

// Returns what the thread waits for as the answer to a call that it made, "an RPC"; nullopt if it
// does not.
std::optional<std::string_view> remote_call(FrameModel& model,
                                            const snapshot::ThreadCapture& thread);

// Returns the thread of the rank that runs a function for a caller of `call` (see above). If
// several threads do so at the same place, it is the first; if none does, it is a coroutine's
// (coroutines.h). Null: nobody does, or threads at different places.
const snapshot::ThreadCapture* serving_thread(FrameModel& model,
                                              const RankView& rank,
                                              std::string_view call);

// Returns whether the thread waits for what comes next in an event loop, or in a loop that runs
// functions for others.
bool waits_for_work(FrameModel& model, const snapshot::ThreadCapture& thread);

// Returns whether the thread is in a loop that runs functions for others, and runs none of them: it
// does nothing by itself.
bool waits_to_serve(FrameModel& model, const snapshot::ThreadCapture& thread);

// Returns whether the thread runs a function for a caller.
bool runs_function(FrameModel& model, const snapshot::ThreadCapture& thread);

// A rank that waits for an answer, and the threads that may owe it.
struct RemoteWait {
  std::size_t caller = 0;                           // an index into the ranks
  const snapshot::ThreadCapture* thread = nullptr;  // of the caller
  struct Server {
    std::size_t rank = 0;
    const snapshot::ThreadCapture* thread = nullptr;
  };
  std::vector<Server> servers;
  // Requests for resources that are not free: what the caller waits for cannot begin before. Then
  // the servers are those that have some of what is asked for, and run a function.
  std::vector<const snapshot::ResourceRequest*> wants;
};

// Finds who owes the answers. Several threads may run functions: if all of them but one wait for
// another's answer, that one ends every way, and all may be meant. If more do something of their
// own, which one is meant is not known, and nobody is: nor if a rank was not read, which may be the
// one. An actor that the caller has not asked is not meant. `requests`: of the job.
std::vector<RemoteWait> find_remote_waits(FrameModel& model,
                                          const std::vector<RankView>& ranks,
                                          const std::vector<snapshot::ResourceRequest>& requests);

// Returns the threads and coroutines of `server` that have the waiter's connection at hand, and do
// not wait at it for what the waiter sends: they owe the answer.
std::vector<const snapshot::ThreadCapture*> keepers_of(const JobView& view,
                                                       const snapshot::ProcessCapture& process,
                                                       const snapshot::Wait& waiter,
                                                       const snapshot::ProcessCapture& server);

}  // namespace oddrank::aggregate
