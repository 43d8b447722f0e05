#include "collectives/possible_transfers.h"

#include "tests/support/catch.h"
#include "tests/unit/collectives/thread_builder.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;

constexpr std::string_view kReceives = "_ZN4c10d16ProcessGroupGloo8RecvWork4waitENSt6chronoIlEE";
constexpr std::string_view kSends = "_ZN4c10d16ProcessGroupGloo8SendWork4waitENSt6chronoIlEE";
constexpr std::string_view kWaits = "_ZN4c10d4Work4waitENSt6chronoIlEE";
constexpr std::string_view kMegatronFile =
    "/v/megatron/core/pipeline_parallel/p2p_communication.py";
constexpr std::string_view kSchedulesFile = "/v/torch/distributed/pipelining/schedules.py";

// Megatron-core's stage 1 of 4: what it exchanges is told by its neighbours' ranks and four locals.
ThreadBuilder& stage(ThreadBuilder& builder,
                     std::string_view recv_prev,
                     std::string_view recv_next,
                     bool sends_next) {
  if (sends_next) {  // a tensor among the locals has no text
    return builder.python("P2PCommunicator._communicate", kMegatronFile, 403,
                          {{"recv_prev", recv_prev},
                           {"recv_next", recv_next},
                           {"tensor_send_prev", "None"},
                           {"next_rank", "6"},
                           {"prev_rank", "2"}});
  }
  return builder.python("P2PCommunicator._communicate", kMegatronFile, 403,
                        {{"recv_prev", recv_prev},
                         {"recv_next", recv_next},
                         {"tensor_send_prev", "None"},
                         {"tensor_send_next", "None"},
                         {"next_rank", "6"},
                         {"prev_rank", "2"}});
}

std::string peers_text(ThreadBuilder& builder) {
  const auto& call = found_call(builder);
  const std::string kind = call.kind == CallKind::kRecv ? "recv " : "send ";
  return kind + (call.peer >= 0 ? std::to_string(call.peer) : builder_text(builder, call.peers));
}

TEST_CASE("the neighbours of a stage of Megatron-core") {
  ThreadBuilder from_before;
  stage(from_before.native(kReceives), "True", "False", false);
  CHECK(peers_text(from_before) == "recv 2");
  ThreadBuilder from_after;
  stage(from_after.native(kReceives), "False", "True", true);
  CHECK(peers_text(from_after) == "recv 6");
  ThreadBuilder to_after;
  stage(to_after.native(kSends), "False", "True", true);
  CHECK(peers_text(to_after) == "send 6");
  ThreadBuilder both;
  stage(both.native(kReceives), "True", "True", false);
  CHECK(peers_text(both) == "recv 2,6");
}

TEST_CASE("a wait that does not show which way it goes, in a function that waits for transfers") {
  ThreadBuilder builder;
  stage(builder.native(kWaits), "True", "False", true);
  CHECK(peers_text(builder) == "recv 2,6");
  ThreadBuilder elsewhere;
  elsewhere.native(kWaits).python("train", "/u/train.py", 5,
                                  {{"next_rank", "6"}, {"recv_next", "True"}});
  CHECK(found_call(elsewhere).kind == CallKind::kCollective);
}

TEST_CASE("the batches of a schedule of torch's pipelining") {
  const std::string_view before = "[<P2POp op=irecv peer=0 group=<ProcessGroup 0>>]";
  const std::string_view after = "[<P2POp op=irecv peer=2 group=<ProcessGroup 0>>]";
  const std::string_view sends = "[<P2POp op=isend peer=3 group=<ProcessGroup 0>>]";
  ThreadBuilder builder;
  builder.native(kReceives)
      .python("_wait_batch_p2p", kSchedulesFile, 683)
      .python("Schedule1F1B._step_microbatches", kSchedulesFile, 1105,
              {{"fwd_recvs", before}, {"bwd_recvs", after}, {"fwd_sends", sends}});
  CHECK(peers_text(builder) == "recv 0,2");
  ThreadBuilder one;
  one.native(kSends)
      .python("_wait_batch_p2p", kSchedulesFile, 683)
      .python("Schedule1F1B._step_microbatches", kSchedulesFile, 1164,
              {{"fwd_recvs", before}, {"fwd_sends", sends}});
  CHECK(peers_text(one) == "send 3");
  // A list that is longer than its text may hold any rank.
  ThreadBuilder cut;
  cut.native(kReceives)
      .python("_wait_batch_p2p", kSchedulesFile, 683)
      .python("_step_microbatches", kSchedulesFile, 2179,
              {{"ops", "[<P2POp op=irecv peer=0>, ... 9 items]"}});
  CHECK(peers_text(cut) == "recv ");
  // The batches of a caller that does not wait itself are its own.
  ThreadBuilder outer;
  outer.native(kReceives)
      .python("exchange", "/u/halo.py", 3)
      .python("main", "/u/halo.py", 9, {{"ops", before}});
  CHECK(peers_text(outer) == "recv ");
}

}  // namespace
}  // namespace oddrank::collectives
