// Jobs in which no rank may be named: all are where they should be, or the evidence is too thin.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::WaitOn;

namespace {

Frames body(std::uint32_t line) {
  return program_at("moe/run.py", {{"step", line}, {"run", 90}, {"<module>", 104}});
}

// --- below_host ---

// The very first operation after "Init COMPLETE": PCI access control between two GPUs.
CaptureBuilder first_operation() {
  return job_of(1, 8, Backend::kNccl,
                in_nccl_call(world_call("broadcast", 0),
                             Frames{pkg_py("torch/nn/parallel/distributed.py",
                                           "DistributedDataParallel._sync_module_states", 1187)} +
                                 body(20)));
}

// Tensor groups are complete, and the data groups wait for them: the chain ends at a complete one.
CaptureBuilder a_complete_group_of_four() {
  CaptureBuilder job =
      job_of(2, 4, Backend::kNccl, in_nccl_call(world_call("all_reduce", 77), body(61)));
  replace_all(job, {4, 5, 6, 7},
              in_nccl_call(group_call("all_gather", "tp#1", {4, 5, 6, 7}, 20'441), body(48)));
  return job;
}

// 64 ranks, one operation, one number: marin#7344 had 512 of them.
CaptureBuilder everybody_at_one_number() {
  return job_of(8, 8, Backend::kNccl, in_nccl_call(world_call("all_to_all", 346), body(55)));
}

// One node is unknown: its ranks may be anywhere.
CaptureBuilder one_node_unread() {
  CaptureBuilder job = everybody_at_one_number();
  job.silence("gpu05", "node did not answer in 20 s");
  return job;
}

// --- unknown ---

// Every rank waits, in two calls of unknown groups.
CaptureBuilder groups_not_known() {
  CaptureBuilder job =
      job_of(2, 4, Backend::kNccl, in_nccl_call(unknown_call("all_gather"), body(48)));
  replace_all(job, {1, 2, 5}, in_nccl_call(unknown_call("reduce_scatter"), body(52)));
  return job;
}

CaptureBuilder looked_at_once() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kGloo,
             running(Frames{pkg_py("torch/nn/functional.py", "linear", 114)} + body(33), 0), 1);
  replace(job, 2, running(body(34), 0));
  return job;
}

// Each rank failed, and cleans up: the log shows which one failed first, the stacks do not.
CaptureBuilder all_of_them_clean_up() {
  return job_of(2, 8, Backend::kNccl,
                blocked(WaitOn::kLock, "futex",
                        futex_wait() +
                            Frames{in_torch_cuda("c10d::ProcessGroupNCCL::waitForPendingWorks"),
                                   pkg_py("torch/distributed/distributed_c10d.py",
                                          "destroy_process_group", 2146)} +
                            body(97)));
}

// Asynchronous collectives: all threads wait for their devices, and no frame shows for what.
CaptureBuilder all_wait_for_their_devices() {
  ThreadSpec spec = running(
      stream_wait() + Frames{pkg_py("torch/cuda/streams.py", "Stream.synchronize", 105)} + body(70),
      500'000);
  spec.wait.on = WaitOn::kDevice;
  spec.wait.path = "/dev/nvidia0";
  return job_of(2, 4, Backend::kNccl, spec);
}

}  // namespace

std::vector<Story> stories_of_nobody() {
  return {
      {"one_all_reduce", "all ranks in one all_reduce", Kind::kBelowHost, {}, below_host_job},
      {"first_operation", "hangs.md F3: P2P through ACS", Kind::kBelowHost, {}, first_operation},
      {"a_complete_group",
       "F2: the group that is complete is where it hangs",
       Kind::kBelowHost,
       {},
       a_complete_group_of_four},
      {"everybody_at_one_number", "G3, marin#7344", Kind::kBelowHost, {}, everybody_at_one_number},
      {"one_node_unread",
       "not all ranks were read",
       Kind::kUnknown,
       {},
       one_node_unread,
       Kind::kBelowHost},
      {"half_in_a_call", "groups are not known", Kind::kUnknown, {}, unknown_job},
      {"unread_node",
       "the node of the culprit did not answer",
       Kind::kUnknown,
       {},
       unread_node_job},
      {"groups_not_known", "hangs.md G4", Kind::kUnknown, {}, groups_not_known},
      {"looked_at_once",
       "one sample cannot tell stuck from slow",
       Kind::kUnknown,
       {},
       looked_at_once},
      {"all_of_them_clean_up",
       "D7, spd#552: every rank failed",
       Kind::kUnknown,
       {},
       all_of_them_clean_up},
      {"all_wait_for_their_devices",
       "G3 without a frame of the collective",
       Kind::kUnknown,
       {},
       all_wait_for_their_devices,
       Kind::kDeviceStall},
  };
}

}  // namespace oddrank::tests
