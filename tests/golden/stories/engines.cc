// Ranks in calls of other engines than torch.distributed: MPI, and pipelines whose transfers may be
// with one of several ranks.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::CallKind;
using snapshot::WaitOn;

namespace {

FrameSpec in_mpi(std::string_view symbol) {
  return native(symbol, "/usr/lib/x86_64-linux-gnu/libmpi.so.40.30.4");
}

// MPI waits by running.
ThreadSpec in_mpi_call(CallSpec call, std::string_view function, std::string_view caller) {
  ThreadSpec spec = running(Frames{in_mpi("opal_progress"), in_mpi("ompi_request_default_wait"),
                                   in_mpi(function), native(caller, "/home/u/solver")},
                            490'000);
  spec.call = std::move(call);
  return spec;
}

CallSpec communicator_call(std::string_view op,
                           std::string_view group,
                           std::vector<std::int32_t> ranks) {
  CallSpec call = group_call(op, group, std::move(ranks));
  call.evidence = "frame MPI_Allreduce, communicator halves of 2";
  return call;
}

ThreadSpec in_open(std::string_view caller) {
  ThreadSpec spec = blocked(WaitOn::kFile, "openat",
                            Frames{in_libc("__open64"), native(caller, "/home/u/solver")});
  spec.wait.path = "/scratch/restart.fifo";
  spec.wait.wchan = "wait_for_partner";
  return spec;
}

// Rank 1 reads its restart file while the others are in an MPI_Allreduce over the world, or over
// the half that it is in.
CaptureBuilder mpi_restart_file() {
  const CallSpec world = communicator_call("all_reduce", "MPI_COMM_WORLD", {0, 1, 2, 3});
  CaptureBuilder job =
      job_of(1, 4, Backend::kGloo, in_mpi_call(world, "MPI_Allreduce", "exchange"));
  replace(job, 3,
          in_mpi_call(communicator_call("all_reduce", "MPI communicator 3", {1, 3}),
                      "MPI_Allreduce", "reduce_half"));
  replace(job, 1, in_open("read_restart"));
  return job;
}

// Members of a communicator are unknown, and two ranks are elsewhere.
CaptureBuilder mpi_unknown_communicator() {
  CaptureBuilder job = job_of(1, 4, Backend::kGloo,
                              in_mpi_call(unknown_call("all_reduce"), "MPI_Allreduce", "exchange"));
  for (const std::int32_t rank : {1, 2}) {
    replace(job, rank, in_mpi_call(unknown_call("barrier"), "MPI_Barrier", "checkpoint"));
  }
  return job;
}

CallSpec one_of(CallKind kind, std::vector<std::int32_t> peers) {
  CallSpec call = transfer(kind, -1);
  call.peers = std::move(peers);
  call.evidence = "frame c10d::ProcessGroupGloo::RecvWork::wait, P2POp(irecv, peer=" +
                  std::to_string(call.peers.front()) +
                  "), P2POp(irecv, peer=" + std::to_string(call.peers.back()) + ")";
  return call;
}

Frames schedule(std::uint32_t line) {
  return Frames{pkg_py("torch/distributed/pipelining/schedules.py", "_wait_batch_p2p", 683),
                pkg_py("torch/distributed/pipelining/schedules.py",
                       "Schedule1F1B._step_microbatches", line)} +
         program_at("gpt/train.py", {{"main", 80}, {"<module>", 96}});
}

// Four stages; each middle one may wait for either neighbour.
CaptureBuilder pipeline() {
  CaptureBuilder job =
      job_of(1, 4, Backend::kGloo, in_gloo(transfer(CallKind::kRecv, 1), schedule(1105)));
  replace(job, 1, in_gloo(one_of(CallKind::kRecv, {0, 2}), schedule(1127)));
  replace(job, 2, in_gloo(one_of(CallKind::kRecv, {1, 3}), schedule(1067)));
  replace(job, 3, in_gloo(transfer(CallKind::kRecv, 2), schedule(1067)));
  return job;
}

// Whichever neighbour stage 2 waits for, the way ends at stage 1.
CaptureBuilder a_middle_stage() {
  CaptureBuilder job = pipeline();
  ThreadSpec reads = in_open("next_batch");
  reads.frames = Frames{in_libc("__open64"), in_interpreter("_io_open_impl")} +
                 program_at("gpt/train.py", {{"stage", 41}, {"main", 80}, {"<module>", 96}});
  replace(job, 1, reads);
  return job;
}

// Each waits for a neighbour, and it is not known for which: somewhere two of them have crossed.
CaptureBuilder crossed_somewhere() {
  return pipeline();
}

}  // namespace

std::vector<Story> stories_of_engines() {
  return {
      {"mpi_restart_file", "a solver's checkpoint", Kind::kIoStall, {1}, mpi_restart_file},
      {"mpi_communicator_not_known",
       "communicators that were not read",
       Kind::kUnknown,
       {},
       mpi_unknown_communicator,
       Kind::kSkippedCollective},
      {"a_middle_stage", "Megatron-core, 1F1B", Kind::kIoStall, {1}, a_middle_stage},
      {"crossed_somewhere",
       "a send that was left out",
       Kind::kUnknown,
       {},
       crossed_somewhere,
       Kind::kP2pOrder},
  };
}

}  // namespace oddrank::tests
