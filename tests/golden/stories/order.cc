// Ranks that wait for each other in a circle: through groups, or through sends and receives.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::CallKind;

namespace {

Frames sync(std::uint32_t line) {
  return program_at("rec/train.py", {{"sync", line}, {"step", 130}, {"<module>", 166}});
}

std::vector<std::int32_t> eight_members() {
  return {0, 1, 2, 3, 4, 5, 6, 7};
}

// --- collective_order ---

// The world and a group of two: rank 2 entered them in the other order.
CaptureBuilder world_and_a_pair() {
  CaptureBuilder job = job_of(4, 2, Backend::kGloo, in_gloo(world_call("all_reduce"), sync(70)));
  replace(job, 2, in_gloo(group_call("all_gather", "eval", {2, 3}), sync(66)));
  return job;
}

// Shards and replicas of embedding tables: two ranks are in an all_reduce of their replicas, the
// others in the all_to_all of all shards.
CaptureBuilder shards_and_replicas() {
  CaptureBuilder job = job_of(2, 4, Backend::kNccl,
                              in_nccl_call(group_call("all_to_all", "mesh_shard", eight_members()),
                                           Frames{pkg_py("torchrec/distributed/dist_data.py",
                                                         "SplitsAllToAllAwaitable.__init__", 261)} +
                                               sync(88)));
  replace(job, 6, in_nccl_call(group_call("all_reduce", "mesh_replicate#2", {2, 6}), sync(95)));
  replace(job, 7, in_nccl_call(group_call("all_reduce", "mesh_replicate#3", {3, 7}), sync(95)));
  return job;
}

// 4 finalises with 5, 5 with 1, 1 with 4: no rank deviates, so the circle is the answer.
CaptureBuilder three_groups_in_a_circle() {
  CaptureBuilder job = job_of(1, 8, Backend::kNccl, in_nccl_call(world_call("barrier"), sync(150)));
  const auto leaves = [](std::string_view group, std::vector<std::int32_t> members) {
    return in_nccl_call(group_call("comm_finalize", group, std::move(members)), sync(144));
  };
  replace(job, 4, leaves("split#45", {4, 5}));
  replace(job, 5, leaves("split#51", {1, 5}));
  replace(job, 1, leaves("split#14", {1, 4}));
  return job;
}

// A mesh of two by two. Ranks 0 and 1 are in calls that only the other can end; rank 2 waits for
// rank 0, and ranks 1 and 3 wait for it in the world, too, but without it they would be stuck
// alike.
CaptureBuilder a_pair_and_who_waits_beside() {
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, in_gloo(world_call("all_reduce", 5), sync(70)));
  replace(job, 0, in_gloo(group_call("reduce_scatter", "mesh_cp", {0, 1}), sync(42)));
  replace(job, 2, in_gloo(group_call("all_reduce", "mesh_dp", {0, 2}, 5), sync(53)));
  return job;
}

// Two calls of one group are no order of groups: one side skipped a call.
CaptureBuilder one_group_only() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kGloo, in_gloo(group_call("all_reduce", "tp", {0, 1, 2, 3}), sync(70)));
  replace(job, 2, in_gloo(group_call("all_gather", "tp", {0, 1, 2, 3}), sync(66)));
  return job;
}

// --- p2p_order ---

Frames stage(std::string_view function, std::uint32_t line) {
  return Frames{pkg_py("deepspeed/runtime/pipe/p2p.py", function, line)} + sync(40);
}

CaptureBuilder both_receive() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kNccl, in_nccl_call(transfer(CallKind::kRecv, 1), stage("recv", 98)));
  replace(job, 1, in_nccl_call(transfer(CallKind::kRecv, 0), stage("recv", 98)));
  replace(job, 2, in_nccl_call(transfer(CallKind::kRecv, 1), stage("recv", 98)));
  replace(job, 3, in_nccl_call(transfer(CallKind::kRecv, 2), stage("recv", 98)));
  return job;
}

// Activations are too large to be sent ahead: both wait for the other to receive.
CaptureBuilder both_send() {
  CaptureBuilder job =
      job_of(2, 4, Backend::kGloo, in_gloo(transfer(CallKind::kRecv, 3), stage("recv", 98)));
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    const std::int32_t before = rank == 0 ? 1 : rank - 1;
    replace(job, rank, in_gloo(transfer(CallKind::kRecv, before), stage("recv", 98)));
  }
  replace(job, 3, in_gloo(transfer(CallKind::kSend, 4), stage("send", 61)));
  replace(job, 4, in_gloo(transfer(CallKind::kSend, 3), stage("send", 61)));
  replace(job, 0, in_gloo(transfer(CallKind::kRecv, 3), stage("recv", 98)));
  return job;
}

// Ring attention, unbatched: every rank sends to the next before it receives.
CaptureBuilder ring_of_sends() {
  CaptureBuilder job =
      job_of(1, 6, Backend::kNccl, in_nccl_call(transfer(CallKind::kSend, 0), sync(40)));
  for (std::int32_t rank = 0; rank < 6; ++rank) {
    replace(
        job, rank,
        in_nccl_call(transfer(CallKind::kSend, (rank + 1) % 6),
                     Frames{pkg_py("ring_flash_attn/utils.py", "RingComm.send", 70)} + sync(52)));
  }
  return job;
}

// One sends what the other receives: both are inside, and the transfer itself does not move.
CaptureBuilder a_matched_pair() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kNccl, in_nccl_call(transfer(CallKind::kRecv, 2), stage("recv", 98)));
  replace(job, 0, in_nccl_call(transfer(CallKind::kSend, 1), stage("send", 61)));
  replace(job, 1, in_nccl_call(transfer(CallKind::kRecv, 0), stage("recv", 98)));
  replace(job, 2, in_nccl_call(transfer(CallKind::kRecv, 1), stage("recv", 98)));
  return job;
}

// As a_matched_pair(), by the CPU: what matches would have been through long ago.
CaptureBuilder a_pair_that_does_not_match() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kGloo, in_gloo(transfer(CallKind::kRecv, 2), stage("recv", 98)));
  replace(job, 0, in_gloo(transfer(CallKind::kSend, 1), stage("send", 61)));
  replace(job, 1, in_gloo(transfer(CallKind::kRecv, 0), stage("recv", 98)));
  replace(job, 2, in_gloo(transfer(CallKind::kRecv, 1), stage("recv", 98)));
  for (std::int32_t rank = 0; rank < 4; ++rank) {
    job.process(pid_of(rank)).threads[0].wait.quiet_ms = 9000;
  }
  return job;
}

}  // namespace

std::vector<Story> stories_of_order() {
  return {
      {"world_and_a_pair",
       "hangs.md A3: two groups in different order",
       Kind::kCollectiveOrder,
       {2, 3},
       world_and_a_pair},
      {"shards_and_replicas",
       "A3, torchrec#4149",
       Kind::kCollectiveOrder,
       {2, 3, 6, 7},
       shards_and_replicas},
      {"three_groups_in_a_circle",
       "A3, pytorch#190431",
       Kind::kCollectiveOrder,
       {1, 4, 5},
       three_groups_in_a_circle},
      {"a_pair_and_who_waits_beside",
       "A3 in a mesh",
       Kind::kCollectiveOrder,
       {0, 1},
       a_pair_and_who_waits_beside},
      {"one_group_only",
       "two calls of one group",
       Kind::kSkippedCollective,
       {2},
       one_group_only,
       Kind::kCollectiveOrder},
      {"both_receive", "hangs.md A8: recv against recv", Kind::kP2pOrder, {0, 1}, both_receive},
      {"both_send",
       "A8: send against send; small ones would have passed",
       Kind::kP2pOrder,
       {3, 4},
       both_send},
      {"ring_of_sends",
       "A8: a ring without batch_isend_irecv",
       Kind::kP2pOrder,
       {0, 1, 2, 3, 4, 5},
       ring_of_sends},
      {"a_matched_pair",
       "F2: send and recv are both there",
       Kind::kUnknown,
       {},
       a_matched_pair,
       Kind::kP2pOrder},
      {"a_pair_that_does_not_match",
       "send and recv have stood for long: tags or sizes differ",
       Kind::kP2pOrder,
       {0, 1},
       a_pair_that_does_not_match},
  };
}

}  // namespace oddrank::tests
