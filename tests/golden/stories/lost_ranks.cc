// Ranks that are gone, and ranks that are kept from running.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::WaitOn;

namespace {

Frames backward(std::uint32_t line) {
  return program_at("bert/run_mlm.py", {{"training_step", line}, {"main", 402}, {"<module>", 455}});
}

// --- missing_rank ---

// torchrun polls its workers; until it reaps it, a dead worker is a zombie.
CaptureBuilder killed_for_memory() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_ddp_backward(backward(233)));
  auto& dead = job.process(pid_of(4));
  dead.threads.clear();
  dead.state = 'Z';
  dead.exit_code = 9;
  dead.read = snapshot::ReadState::kNone;
  job.capture.nodes[1].notes = {"the cgroup of rank 4 has killed 1 process for lack of memory"};
  return job;
}

// One rank is killed, its launcher ends the others of its node, and the step lives on.
CaptureBuilder a_whole_node_of_ranks() {
  CaptureBuilder job =
      job_of(4, 8, Backend::kNccl, in_nccl_call(world_call("all_reduce"), backward(233)));
  expect_ranks(job, 8);
  for (std::int32_t rank = 8; rank < 16; ++rank) {
    job.remove(pid_of(rank));
  }
  return job;
}

// Its loader's workers have outlived it, and keep the sockets open: the others see no reset.
CaptureBuilder its_children_live_on() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_ddp_backward(backward(240)));
  expect_ranks(job, 4);
  add_child(job, 6, 7201,
            blocked(WaitOn::kPipe, "read",
                    Frames{in_libc("__GI___read"), in_interpreter("_Py_read"),
                           std_py("multiprocessing/connection.py", "Connection._recv", 379),
                           std_py("multiprocessing/queues.py", "Queue.get", 103),
                           pkg_py("torch/utils/data/_utils/worker.py", "_worker_loop", 275)}));
  auto& processes = job.capture.processes;
  std::erase_if(processes, [](const auto& process) { return process.pid == pid_of(6); });
  job.process(7201).parent = 1;
  return job;
}

CaptureBuilder segfault_in_a_kernel() {
  CaptureBuilder job =
      job_of(1, 8, Backend::kNccl, in_nccl_call(world_call("reduce_scatter", 5120), backward(251)));
  auto& dead = job.process(pid_of(7));
  dead.threads.clear();
  dead.state = 'Z';
  dead.exit_code = 139;  // 128 + 11: a core was written
  dead.read = snapshot::ReadState::kNone;
  return job;
}

// On an unknown node every rank may be alive.
CaptureBuilder a_silent_node() {
  CaptureBuilder job =
      job_of(4, 2, Backend::kNccl, in_nccl_call(world_call("all_reduce"), backward(233)));
  expect_ranks(job, 2);
  job.silence("gpu03", "srun: error: Unable to create step: Requested node is DOWN");
  return job;
}

ThreadSpec in_new_group(std::uint32_t line) {
  ThreadSpec spec = in_store();
  spec.frames =
      Frames{in_libc("recv"), in_torch("c10d::TCPStore::doWait"),
             in_torch("c10d::PrefixStore::wait"),
             pkg_py("torch/distributed/distributed_c10d.py", "_new_process_group_helper", 2017),
             pkg_py("torch/distributed/distributed_c10d.py", "new_group", 5311)} +
      program_at("vit/finetune.py", {{"make_groups", line}, {"main", 301}});
  return spec;
}

// Gives all ranks that are there the default group of gloo.
void join_default_group(CaptureBuilder& job, std::int32_t size) {
  auto& tables = job.capture.tables;
  for (auto& process : job.capture.processes) {
    process.groups.push_back({.name = tables.string("0"),
                              .backend = tables.string("gloo"),
                              .is_default = true,
                              .rank = process.rank,
                              .size = size});
  }
}

// Alone on its node, it has ended after the default group was made: it did come.
CaptureBuilder came_and_ended() {
  CaptureBuilder job = job_of(4, 1, Backend::kGloo, in_new_group(77));
  join_default_group(job, 4);
  job.remove(pid_of(2));
  return job;
}

// The watchdog has ended the ranks that waited. The remaining one is the one they waited for.
CaptureBuilder a_survivor() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_ddp_backward(backward(233)));
  replace(job, 2, at_loader(0, backward(229)));
  for (const std::int32_t rank : {0, 1, 3, 4, 5, 6, 7}) {
    job.remove(pid_of(rank));
  }
  return job;
}

// --- stopped_rank ---

ThreadSpec held(ThreadSpec spec, char state, WaitOn on) {
  spec.state = state;
  spec.cpu_step_us = 0;
  spec.wait.on = on;
  return spec;
}

CaptureBuilder gdb_left_attached() {
  const ThreadSpec barrier = in_nccl_call(world_call("barrier"), backward(260));
  CaptureBuilder job = job_of(2, 4, Backend::kNccl, barrier);
  ThreadSpec traced = held(running(backward(198), 0), 't', WaitOn::kDebugger);
  traced.wait.holder_pid = 88231;
  traced.wait.wchan = "ptrace_stop";
  traced.wait.detail = "traced by gdb, pid 88231";
  replace(job, 3, traced);
  return job;
}

CaptureBuilder frozen_container() {
  CaptureBuilder job = job_of(4, 1, Backend::kGloo, in_ddp_backward(backward(233)));
  ThreadSpec frozen = held(in_ddp_backward(backward(233)), 'S', WaitOn::kSignal);
  frozen.wait.wchan = "do_freezer_trap";
  frozen.wait.how = snapshot::WaitHow::kFrozen;
  replace(job, 1, frozen);
  return job;
}

CaptureBuilder suspended_job() {
  return job_of(2, 4, Backend::kNccl,
                held(in_nccl_call(world_call("all_gather"), backward(233)), 'T', WaitOn::kSignal));
}

// Job control: the shell stopped the process that wanted to read from its terminal.
CaptureBuilder stopped_by_the_terminal() {
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, in_gloo(world_call("broadcast"), backward(77)));
  ThreadSpec stopped =
      held(blocked(WaitOn::kSignal, "read",
                   Frames{in_libc("__GI___read"), in_interpreter("builtin_input")} + backward(75)),
           'T', WaitOn::kSignal);
  stopped.wait.wchan = "do_signal_stop";
  replace(job, 0, stopped);
  return job;
}

// A worker is stopped, which concerns the loader: the rank itself is not stopped.
CaptureBuilder stopped_worker() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_ddp_backward(backward(233)));
  replace(job, 5, at_loader(7301, backward(229)));
  ThreadSpec worker =
      blocked(WaitOn::kSignal, "read",
              Frames{in_libc("__GI___read"), in_interpreter("_Py_read"),
                     user_py("bert/data.py", "tokens", 31),
                     pkg_py("torch/utils/data/_utils/worker.py", "_worker_loop", 308)});
  worker.state = 'T';
  add_child(job, 5, 7301, worker);
  return job;
}

}  // namespace

std::vector<Story> stories_of_lost_ranks() {
  return {
      {"no_process",
       "no process of one rank on any node",
       Kind::kMissingRank,
       {7},
       missing_rank_job},
      {"killed_for_memory",
       "hangs.md E1: the kernel's OOM killer; a zombie",
       Kind::kMissingRank,
       {4},
       killed_for_memory},
      {"a_whole_node",
       "requirements.md, crash without exit: a node's ranks die, the step lives",
       Kind::kMissingRank,
       {8, 9, 10, 11, 12, 13, 14, 15},
       a_whole_node_of_ranks},
      {"its_children_live_on",
       "E1: survivors hold the sockets",
       Kind::kMissingRank,
       {6},
       its_children_live_on},
      {"came_and_ended",
       "hangs.md E1: one node's only rank has ended, and new_group() waits for it",
       Kind::kMissingRank,
       {2},
       came_and_ended},
      {"segfault", "E1: a core file was written", Kind::kMissingRank, {7}, segfault_in_a_kernel},
      {"a_silent_node",
       "a node that does not answer is no evidence",
       Kind::kUnknown,
       {},
       a_silent_node,
       Kind::kMissingRank},
      {"a_survivor",
       "G2: a watchdog ended those that waited",
       Kind::kInputStall,
       {2},
       a_survivor,
       Kind::kMissingRank},
      {"sigstop", "SIGSTOP inside of the collective", Kind::kStoppedRank, {2}, stopped_rank_job},
      {"gdb_left_attached",
       "hangs.md E2: a debugger was left",
       Kind::kStoppedRank,
       {3},
       gdb_left_attached},
      {"frozen_container", "E2: cgroup.freeze", Kind::kStoppedRank, {1}, frozen_container},
      {"suspended_job",
       "scontrol suspend",
       Kind::kStoppedRank,
       {0, 1, 2, 3, 4, 5, 6, 7},
       suspended_job},
      {"stopped_by_the_terminal", "job control", Kind::kStoppedRank, {0}, stopped_by_the_terminal},
      {"stopped_worker",
       "a loader's worker is stopped, not the rank",
       Kind::kInputStall,
       {5},
       stopped_worker,
       Kind::kStoppedRank},
  };
}

}  // namespace oddrank::tests
