// Ranks that skipped a collective, and ranks that are in another one at the same number.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::WaitOn;

namespace {

Frames loop(std::uint32_t line) {
  return program_at("gpt/main.py", {{"train", line}, {"main", 188}, {"<module>", 201}});
}

Frames deepspeed(std::string_view file, std::string_view function, std::uint32_t line) {
  return {pkg_py(std::string("deepspeed/") + std::string(file), function, line)};
}

// --- skipped_collective ---

CaptureBuilder saves_on_rank_0() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_gloo(world_call("all_reduce"), loop(96)));
  replace(job, 0,
          in_gloo(world_call("barrier"),
                  deepspeed("runtime/engine.py", "DeepSpeedEngine.save_checkpoint", 3092) +
                      program_at("gpt/main.py",
                                 {{"save_if_main", 61}, {"train", 110}, {"<module>", 201}})));
  return job;
}

// An expert got no token on three ranks: their hooks did not fire, and they are a phase ahead.
CaptureBuilder expert_without_tokens() {
  CaptureBuilder job = job_of(
      1, 8, Backend::kNccl,
      in_nccl_call(world_call("reduce_scatter"), deepspeed("runtime/comm/coalesced_collectives.py",
                                                           "reduce_scatter_coalesced", 81) +
                                                     loop(98)));
  replace_all(job, {1, 2, 6},
              in_nccl_call(world_call("all_reduce"),
                           deepspeed("runtime/zero/stage3.py",
                                     "complete_grad_norm_calculation_for_cpu_offload", 1467) +
                               loop(101)));
  return job;
}

// The recorder of each rank counts: 640 is behind 641, however many ranks are at either.
CaptureBuilder behind_by_one() {
  CaptureBuilder job =
      job_of(4, 8, Backend::kNccl, in_nccl_call(world_call("all_gather", 641), loop(96)));
  replace_all(job, {6, 7}, in_nccl_call(world_call("all_gather", 640), loop(96)));
  return job;
}

// A tensor group of four broadcasts its batch; one member never came, and other groups wait.
CaptureBuilder idle_in_its_tensor_group() {
  CaptureBuilder job = job_of(
      2, 4, Backend::kNccl,
      in_nccl_call(group_call("broadcast", "tp#0", {0, 1, 2, 3}),
                   Frames{pkg_py("megatron/core/tensor_parallel/data.py", "broadcast_data", 93)} +
                       loop(70)));
  for (std::int32_t rank = 4; rank < 8; ++rank) {
    replace(job, rank,
            in_nccl_call(transfer(snapshot::CallKind::kRecv, rank - 4),
                         Frames{pkg_py("megatron/core/pipeline_parallel/p2p_communication.py",
                                       "_communicate", 385)} +
                             loop(72)));
  }
  replace(
      job, 2,
      blocked(WaitOn::kUnknown, "clock_nanosleep",
              python_sleep() +
                  program_at("gpt/main.py", {{"backoff", 33}, {"train", 66}, {"<module>", 201}})));
  return job;
}

// Its sequences ended earlier than those of the others, which still generate (synced_gpus=False).
CaptureBuilder generation_ended_early() {
  const auto forward =
      Frames{pkg_py("deepspeed/runtime/zero/partitioned_param_coordinator.py",
                    "PartitionedParameterCoordinator.fetch_sub_module", 490),
             pkg_py("transformers/generation/utils.py", "GenerationMixin._sample", 3254)};
  CaptureBuilder job =
      job_of(1, 8, Backend::kNccl, in_nccl_call(world_call("all_gather"), forward + loop(55)));
  replace(job, 5, in_nccl_call(unknown_call("broadcast"), loop(59)));
  return job;
}

// Without numbers the same line in different iterations looks alike.
CaptureBuilder equal_lines() {
  return loop_skew_job();
}

// Four wait in an unknown group; the other four may have nothing to do with it.
CaptureBuilder members_not_known() {
  CaptureBuilder job =
      job_of(1, 8, Backend::kNccl, in_nccl_call(unknown_call("all_to_all"), loop(77)));
  replace_all(job, {1, 3, 5, 7},
              blocked(WaitOn::kUnknown, "clock_nanosleep", python_sleep() + loop(60)));
  return job;
}

// --- mismatched_collective ---

CaptureBuilder broadcast_against_reduce() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_gloo(world_call("broadcast", 57), loop(41)));
  replace(job, 4, in_gloo(world_call("reduce", 57), loop(44)));
  return job;
}

// A batch of nothing but text skipped the vision tower on four ranks of one data group.
CaptureBuilder a_tower_was_skipped() {
  const std::vector<std::int32_t> group = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  CaptureBuilder job = job_of(2, 8, Backend::kNccl,
                              in_nccl_call(group_call("all_gather", "dp_cp", group, 8120),
                                           deepspeed("runtime/zero/partition_parameters.py",
                                                     "Init.all_gather_coalesced", 1273) +
                                               loop(98)));
  replace_all(
      job, {1, 4, 5, 9},
      in_nccl_call(group_call("_all_gather_base", "dp_cp", group, 8120),
                   deepspeed("runtime/zero/stage3.py", "_fetch_language_tower", 402) + loop(99)));
  for (std::int32_t rank = 12; rank < 16; ++rank) {
    replace(job, rank, in_nccl_call(transfer(snapshot::CallKind::kRecv, rank - 12), loop(90)));
  }
  return job;
}

// Two and two: nothing shows which side is wrong, so all four are named.
CaptureBuilder two_against_two() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kGloo, in_gloo(world_call("all_reduce", 902), loop(96)));
  replace_all(job, {2, 3}, in_gloo(world_call("barrier", 902), loop(103)));
  return job;
}

// One rank is behind the loop in which the others make their call.
CaptureBuilder left_the_loop() {
  const ThreadSpec inside = in_gloo(world_call("all_reduce", 902), loop(96));
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, inside);
  for (snapshot::ProcessCapture& process : job.capture.processes) {
    snapshot::PythonLoop& around = process.threads.front().loops.emplace_back();
    around.frame = static_cast<std::uint32_t>(inside.frames.size() - loop(96).size());
    around.iterates = true;
  }
  replace(job, 2, in_gloo(world_call("barrier", 902), loop(103)));
  return job;
}

// One against one, while the others of the pipeline have yet to come: they wait for rank 1, which
// has left the loop, and for nobody who is still in it.
CaptureBuilder left_the_pipeline() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kGloo, in_gloo(transfer(snapshot::CallKind::kSend, 1), loop(46)));
  replace(job, 1, in_gloo(world_call("all_reduce", 11), loop(117)));
  replace(job, 2, in_gloo(transfer(snapshot::CallKind::kRecv, 1), loop(46)));
  replace(job, 3, in_gloo(world_call("all_gather", 11), loop(52)));
  return job;
}

// Another operation at another number: one side is a call behind.
CaptureBuilder one_number_apart() {
  CaptureBuilder job =
      job_of(2, 4, Backend::kGloo, in_gloo(world_call("all_reduce", 903), loop(96)));
  replace(job, 3, in_gloo(world_call("barrier", 902), loop(103)));
  return job;
}

}  // namespace

std::vector<Story> stories_of_collectives() {
  return {
      {"logs_alone",
       "one rank sleeps while it logs",
       Kind::kSkippedCollective,
       {3},
       skipped_collective_job},
      {"saves_on_rank_0",
       "hangs.md A2: save_checkpoint has a barrier",
       Kind::kSkippedCollective,
       {0},
       saves_on_rank_0},
      {"expert_without_tokens",
       "A6, DeepSpeed#7461",
       Kind::kSkippedCollective,
       {1, 2, 6},
       expert_without_tokens},
      {"behind_by_one",
       "G2, nccl#1911: RAS lists those that are ahead",
       Kind::kSkippedCollective,
       {6, 7},
       behind_by_one},
      {"idle_in_its_tensor_group",
       "A10: the group whose members split is the root",
       Kind::kSkippedCollective,
       {2},
       idle_in_its_tensor_group},
      {"generation_ended_early",
       "A7, DeepSpeed#860: synced_gpus",
       Kind::kSkippedCollective,
       {5},
       generation_ended_early},
      {"equal_lines",
       "G4: equal lines of different iterations",
       Kind::kBelowHost,
       {},
       equal_lines,
       Kind::kSkippedCollective},
      {"members_not_known",
       "G4: whose group it is, nothing says",
       Kind::kUnknown,
       {},
       members_not_known,
       Kind::kSkippedCollective},
      {"broadcast_against_reduce",
       "hangs.md A4: another operation",
       Kind::kMismatchedCollective,
       {4},
       broadcast_against_reduce},
      {"a_tower_was_skipped",
       "A4, ms-swift#9443: ALLGATHER against _ALLGATHER_BASE",
       Kind::kMismatchedCollective,
       {1, 4, 5, 9},
       a_tower_was_skipped},
      {"two_against_two",
       "A4 with no majority",
       Kind::kMismatchedCollective,
       {0, 1, 2, 3},
       two_against_two},
      {"left_the_loop", "A4: fewer batches", Kind::kMismatchedCollective, {2}, left_the_loop},
      {"left_the_pipeline",
       "A4 with no majority, but one side is awaited elsewhere",
       Kind::kMismatchedCollective,
       {1},
       left_the_pipeline},
      {"one_number_apart",
       "A1: another number, so one is behind",
       Kind::kSkippedCollective,
       {3},
       one_number_apart,
       Kind::kMismatchedCollective},
  };
}

}  // namespace oddrank::tests
