// Ranks that have failed already, and jobs that do not get through their initialisation.
#include "tests/golden/stories/frames.h"
#include "tests/golden/stories/story.h"

namespace oddrank::tests {

using aggregate::Kind;
using snapshot::WaitOn;

namespace {

Frames train(std::uint32_t line) {
  return program_at("vit/finetune.py", {{"train_epoch", line}, {"main", 310}, {"<module>", 340}});
}

// --- failed_rank ---

// dist.breakpoint(rank=1): the prompt went to an unattended terminal.
CaptureBuilder debugger_prompt() {
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, in_gloo(world_call("barrier"), train(97)));
  ThreadSpec prompt = blocked(
      WaitOn::kFile, "read",
      Frames{in_libc("__GI___read"), in_interpreter("builtin_input"),
             std_py("cmd.py", "Cmd.cmdloop", 126), std_py("pdb.py", "Pdb._cmdloop", 435),
             std_py("pdb.py", "Pdb.interaction", 416), std_py("bdb.py", "Bdb.dispatch_line", 114)} +
          train(95));
  prompt.wait.path = "/dev/pts/3";
  prompt.wait.fd = 0;
  replace(job, 1, prompt);
  return job;
}

// Out of memory in an all_gather; its handler waits for a communicator that will not answer.
CaptureBuilder destroys_its_group() {
  CaptureBuilder job =
      job_of(2, 8, Backend::kNccl, in_nccl_call(world_call("all_gather"), train(132)));
  replace(job, 9,
          blocked(WaitOn::kLock, "futex",
                  futex_wait() +
                      Frames{in_torch_cuda("c10d::ProcessGroupNCCL::waitForPendingWorks"),
                             pkg_py("torch/distributed/distributed_c10d.py",
                                    "destroy_process_group", 2146)} +
                      program_at("vit/finetune.py",
                                 {{"clean_up", 288}, {"main", 322}, {"<module>", 340}})));
  return job;
}

// A non-daemon thread: the interpreter waits for it before it exits.
CaptureBuilder thread_at_exit() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_ddp_backward(train(120)));
  replace(job, 6,
          blocked(WaitOn::kThread, "futex",
                  Frames{in_libc("__futex_abstimed_wait_common"), in_libc("__new_sem_wait_slow64"),
                         in_interpreter("PyThread_acquire_lock_timed"),
                         std_py("threading.py", "Thread._wait_for_tstate_lock", 1119),
                         std_py("threading.py", "_shutdown", 1553),
                         in_interpreter("wait_for_thread_shutdown"),
                         in_interpreter("Py_FinalizeEx"), in_interpreter("Py_RunMain")}));
  add_thread(job, 6, 7410,
             blocked(WaitOn::kSocket, "recvfrom",
                     Frames{in_libc("__libc_recv"), user_py("vit/telemetry.py", "push", 61)} +
                         thread_end()));
  return job;
}

// It has run out of batches and exited; its launcher has not reaped it.
CaptureBuilder one_batch_fewer() {
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, in_ddp_backward(train(120)));
  auto& process = job.process(pid_of(2));
  process.threads.clear();
  process.read = snapshot::ReadState::kPartial;
  process.state = 'Z';
  process.exit_code = 0;
  return job;
}

CaptureBuilder last_garbage() {
  CaptureBuilder job = job_of(1, 4, Backend::kGloo, in_gloo(world_call("barrier"), train(131)));
  replace(job, 0,
          blocked(WaitOn::kLock, "futex",
                  futex_wait() + Frames{in_interpreter("gc_collect_main"),
                                        in_interpreter("Py_FinalizeEx"),
                                        in_interpreter("Py_RunMain")}));
  return job;
}

CaptureBuilder aborts_its_communicator() {
  CaptureBuilder job =
      job_of(2, 4, Backend::kNccl, in_nccl_call(world_call("reduce_scatter"), train(120)));
  replace(
      job, 5,
      blocked(WaitOn::kUnknown, "futex",
              Frames{in_libc("__pthread_clockjoin_ex"), in_nccl("commFree"), in_nccl("commReclaim"),
                     in_nccl("ncclCommAbort"), in_torch_cuda("c10d::ProcessGroupNCCL::abort"),
                     in_interpreter("cfunction_call")} +
                  train(118)));
  return job;
}

// The end of a job is the end of all of its ranks.
CaptureBuilder all_of_them_end() {
  return job_of(2, 4, Backend::kGloo,
                blocked(WaitOn::kThread, "futex",
                        Frames{in_libc("__futex_abstimed_wait_common"),
                               std_py("threading.py", "Thread._wait_for_tstate_lock", 1119),
                               std_py("threading.py", "_shutdown", 1553),
                               in_interpreter("Py_FinalizeEx"), in_interpreter("Py_RunMain")}));
}

// A helper thread logs an exception that was caught; the rank itself waits like all others.
CaptureBuilder a_helper_prints_an_exception() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_ddp_backward(train(120)));
  add_thread(job, 4, 7420,
             blocked(WaitOn::kUnknown, "write",
                     Frames{in_libc("__GI___write"), std_py("traceback.py", "print_exc", 183),
                            user_py("vit/telemetry.py", "push", 70)} +
                         thread_end()));
  replace(job, 1, at_loader(0, train(90)));
  return job;
}

// --- rendezvous ---

ThreadSpec in_store_barrier(std::uint32_t line) {
  ThreadSpec spec = in_store();
  spec.frames =
      Frames{in_libc("recv"), in_torch("c10d::TCPStore::doWait"),
             in_torch("c10d::PrefixStore::wait"),
             pkg_py("torch/distributed/distributed_c10d.py", "_store_based_barrier", 966),
             pkg_py("torch/distributed/distributed_c10d.py", "init_process_group", 1767)} +
      program_at("vit/finetune.py", {{"setup", line}, {"main", 301}, {"<module>", 340}});
  return spec;
}

// "Tells 8 but can only find 4": four were started on this machine.
CaptureBuilder fewer_than_the_world() {
  CaptureBuilder job = job_of(1, 8, Backend::kGloo, in_store_barrier(41));
  job.capture.job.source = snapshot::JobSource::kNode;
  job.capture.job.id.clear();
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    set_variable(job, rank, "MASTER_ADDR", "127.0.0.1");
  }
  for (std::int32_t rank = 4; rank < 8; ++rank) {
    job.remove(pid_of(rank));
  }
  return job;
}

// The first rank serves the store and counts workers; it polls.
CaptureBuilder rank_0_counts_workers() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_store_barrier(41));
  ThreadSpec counts = in_store_barrier(41);
  counts.frames =
      Frames{in_libc("clock_nanosleep@@GLIBC_2.17"), in_torch("c10d::TCPStore::waitForWorkers"),
             in_torch("c10d::TCPStore::TCPStore"),
             pkg_py("torch/distributed/rendezvous.py", "_create_c10d_store", 189),
             pkg_py("torch/distributed/distributed_c10d.py", "init_process_group", 1714)} +
      program_at("vit/finetune.py", {{"setup", 41}, {"main", 301}, {"<module>", 340}});
  counts.wait.syscall = "clock_nanosleep";
  counts.switch_step = 50;
  replace(job, 0, counts);
  job.remove(pid_of(3));
  job.remove(pid_of(6));
  return job;
}

// One rank was given another port, where no process listens: it tries again and again.
CaptureBuilder connects_elsewhere() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_store_barrier(41));
  ThreadSpec connects = in_store_barrier(41);
  connects.frames =
      Frames{in_libc("clock_nanosleep@@GLIBC_2.17"),
             in_torch("c10d::detail::SocketConnectOp::tryConnect"),
             in_torch("c10d::detail::Socket::connect"),
             in_torch("c10d::TCPStore::TCPStore"),
             pkg_py("torch/distributed/rendezvous.py", "_create_c10d_store", 189),
             pkg_py("torch/distributed/distributed_c10d.py", "init_process_group", 1714)} +
      program_at("vit/finetune.py", {{"setup", 41}, {"main", 301}, {"<module>", 340}});
  connects.wait.syscall = "clock_nanosleep";
  replace(job, 5, connects);
  return job;
}

// Still downloads its weights, again and again.
ThreadSpec downloads() {
  return blocked(WaitOn::kUnknown, "clock_nanosleep",
                 python_sleep() + program_at("vit/weights.py", {{"retry", 19}, {"fetch", 33}}) +
                     Frames{user_py("vit/finetune.py", "main", 299)});
}

// NCCL's bootstrap waits for all; one rank is late.
CaptureBuilder bootstrap_waits_for_one() {
  CaptureBuilder job = job_of(2, 8, Backend::kNccl, in_comm_init(train(55)));
  replace(job, 13, downloads());
  return job;
}

void set_root(CaptureBuilder& job,
              std::int32_t came,
              std::string_view absent,
              std::string_view unclear) {
  const auto size = static_cast<std::int32_t>(job.capture.processes.size());
  job.process(pid_of(0)).roots = {
      {size, size, came, job.capture.tables.string(absent), job.capture.tables.string(unclear)}};
}

// Two are late, and the root, which rank 0 has, was read. Ranks 5 and 9 have neighbours that came.
CaptureBuilder bootstrap_root_counts() {
  CaptureBuilder job = bootstrap_waits_for_one();
  replace(job, 5, downloads());
  set_root(job, 14, "13", "5,9");
  return job;
}

// All ranks are in the call that creates the communicator, but one makes its CUDA context yet.
CaptureBuilder bootstrap_is_not_reached() {
  CaptureBuilder job = job_of(1, 8, Backend::kNccl, in_comm_init(train(55)));
  ThreadSpec begins = in_comm_init(train(55));
  begins.frames =
      Frames{in_libc("ioctl"), native("cuDevicePrimaryCtxRetain", "libcuda.so.550.54.15"),
             native("cudaSetDevice", "libcudart.so.12"), in_nccl("ncclCommInitRankFunc"),
             in_nccl("ncclCommInitRankConfig")} +
      train(55);
  begins.wait.on = WaitOn::kDevice;
  begins.wait.syscall = "ioctl";
  begins.wait.path = "/dev/nvidiactl";
  replace(job, 3, begins);
  set_root(job, 7, "3", "");
  return job;
}

// One rank does not return from the driver, and the others wait for it in NCCL's barrier.
CaptureBuilder driver_does_not_return() {
  CaptureBuilder job = job_of(1, 8, Backend::kNccl, in_comm_init(train(55)));
  ThreadSpec binds =
      blocked(WaitOn::kDevice, "ioctl",
              Frames{in_libc("ioctl"), native("cuMulticastBindMem", "libcuda.so.550.54.15"),
                     in_nccl("ncclNvlsSetup"), in_nccl("initTransportsRank"),
                     in_nccl("ncclCommInitRankFunc")} +
                  train(55));
  binds.wait.path = "/dev/nvidiactl";
  replace(job, 3, binds);
  return job;
}

// dist.new_group() under `if rank in members`: all ranks have to call it.
CaptureBuilder group_made_by_some() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_gloo(world_call("all_reduce"), train(120)));
  ThreadSpec makes = in_store();
  makes.frames = Frames{in_libc("recv"), in_torch("c10d::TCPStore::doWait"),
                        in_torch("gloo::rendezvous::Context::connectFullMesh"),
                        in_torch("c10d::ProcessGroupGloo::ProcessGroupGloo"),
                        pkg_py("torch/distributed/distributed_c10d.py", "new_group", 4565)} +
                 train(101);
  makes.call->op = "new_group";
  makes.call->evidence = "frame new_group (distributed_c10d.py:4565)";
  replace_all(job, {0, 1}, makes);
  return job;
}

// Four ranks in new_group(). Each makes the group of that number, of these ranks.
struct GroupInMaking {
  std::string name;  // as Python writes it: "'3'"
  std::string ranks;
};

CaptureBuilder ranks_make_groups(const std::vector<GroupInMaking>& groups) {
  ThreadSpec makes = in_store();
  makes.frames =
      Frames{in_libc("poll"), in_torch("gloo::rendezvous::Context::connectFullMesh"),
             pkg_py("torch/distributed/distributed_c10d.py", "_new_process_group_helper", 2169),
             pkg_py("torch/distributed/distributed_c10d.py", "new_group", 5863)} +
      train(101);
  makes.call->op = "new_group";
  makes.call->evidence = "frame new_group (distributed_c10d.py:5863)";
  CaptureBuilder job = job_of(1, static_cast<std::int32_t>(groups.size()), Backend::kGloo, makes);
  for (snapshot::ProcessCapture& process : job.capture.processes) {
    snapshot::Tables& tables = job.capture.tables;
    const GroupInMaking& group = groups[static_cast<std::size_t>(process.rank)];
    snapshot::FrameLocals& row = process.threads.front().locals.emplace_back();
    row.frame = 2;
    row.locals = {{tables.string("group_name"), tables.string(group.name)},
                  {tables.string("global_ranks_in_group"), tables.string(group.ranks)}};
  }
  return job;
}

// All ranks make a group of all; rank `odd` under another number than the others.
CaptureBuilder group_made_as(std::int32_t odd,
                             std::string_view usual,
                             std::string_view other,
                             std::string_view members_of_odd = "[0, 1, 2, 3]") {
  std::vector<GroupInMaking> groups(4, {std::string(usual), "[0, 1, 2, 3]"});
  groups[static_cast<std::size_t>(odd)] = {std::string(other), std::string(members_of_odd)};
  return ranks_make_groups(groups);
}

void has_group(CaptureBuilder& job,
               std::int32_t rank,
               std::string_view number,
               std::string_view members) {
  snapshot::ProcessGroup group;
  group.name = job.capture.tables.string(number);
  group.members = job.capture.tables.string(members);
  for (snapshot::ProcessCapture& process : job.capture.processes) {
    if (process.rank == rank) {
      process.groups.push_back(group);
    }
  }
}

// All make tp {0-1} {2-3} and dp {0,2} {1,3}, rank 1 dp first.
CaptureBuilder groups_in_another_order() {
  CaptureBuilder job = ranks_make_groups(
      {{"'1'", "[0, 1]"}, {"'3'", "[0, 1]"}, {"'3'", "[0, 2]"}, {"'4'", "[1, 3]"}});
  has_group(job, 1, "2", "1,3");
  has_group(job, 2, "2", "2-3");
  has_group(job, 3, "2", "2-3");
  return job;
}

// Ranks 0 and 1 have made a group of their own before they make one of all, of which a report lists
// the first four.
CaptureBuilder group_of_all_after_own() {
  const std::string all = "[0, 1, 2, 3, ... 5 items]";
  CaptureBuilder job =
      ranks_make_groups({{"'2'", all}, {"'2'", all}, {"'1'", all}, {"'1'", all}, {"'1'", all}});
  for (std::int32_t rank = 0; rank < 5; ++rank) {
    has_group(job, rank, "0", "");
  }
  for (snapshot::ProcessCapture& process : job.capture.processes) {
    process.groups.front().is_default = true;
    process.groups.front().size = 5;
  }
  has_group(job, 0, "1", "0-1");
  has_group(job, 1, "1", "0-1");
  return job;
}

// The parts of a split_group() have one number; what the ranks make now is the same for all.
CaptureBuilder parts_of_a_split() {
  CaptureBuilder job = group_made_as(0, "'2'", "'2'");
  for (const std::int32_t rank : {0, 1, 2}) {
    has_group(job, rank, "1", "0-2");
  }
  has_group(job, 3, "1", "3");
  return job;
}

CaptureBuilder made_one_group_more() {
  return group_made_as(3, "'3'", "'4'");
}

CaptureBuilder made_one_group_less() {
  return group_made_as(1, "'7'", "'6'");
}

// Groups of other members, which each makes in its turn.
CaptureBuilder makes_a_group_of_others() {
  return group_made_as(3, "'3'", "'4'", "[3, 5]");
}

// With use_local_synchronization names are hashes of the members.
CaptureBuilder group_named_by_hash() {
  return group_made_as(3, "'9f86d081884c7d65'", "'60303ae22b998861'");
}

// Started, and gone: this is not a rank that never came.
CaptureBuilder started_and_gone() {
  CaptureBuilder job = job_of(2, 4, Backend::kGloo, in_store_barrier(41));
  expect_ranks(job, 4);
  job.remove(pid_of(5));
  return job;
}

}  // namespace

std::vector<Story> stories_of_failed_ranks() {
  return {
      {"debugger_prompt",
       "hangs.md E3, torchtitan#652: a breakpoint on one rank",
       Kind::kFailedRank,
       {1},
       debugger_prompt},
      {"destroys_its_group",
       "D7, spd#552: clean-up on a wedged communicator",
       Kind::kFailedRank,
       {9},
       destroys_its_group},
      {"thread_at_exit", "D7: a non-daemon thread", Kind::kEarlyExit, {6}, thread_at_exit},
      {"one_batch_fewer",
       "hangs.md A5: a rank runs out of data",
       Kind::kEarlyExit,
       {2},
       one_batch_fewer},
      {"last_garbage",
       "D7: the interpreter's last collection, natively",
       Kind::kEarlyExit,
       {0},
       last_garbage},
      {"aborts_its_communicator",
       "D7, nccl#1777: commFree joins",
       Kind::kFailedRank,
       {5},
       aborts_its_communicator},
      {"all_of_them_end",
       "the end of a job",
       Kind::kUnknown,
       {},
       all_of_them_end,
       Kind::kFailedRank},
      {"a_helper_prints",
       "an exception that was caught, in another thread",
       Kind::kInputStall,
       {1},
       a_helper_prints_an_exception,
       Kind::kFailedRank},
      {"never_came", "one rank never came", Kind::kRendezvous, {7}, rendezvous_job},
      {"fewer_than_the_world",
       "hangs.md E4: WORLD_SIZE 8, four processes",
       Kind::kRendezvous,
       {4, 5, 6, 7},
       fewer_than_the_world},
      {"rank_0_counts_workers",
       "E4: waitForWorkers polls",
       Kind::kRendezvous,
       {3, 6},
       rank_0_counts_workers},
      {"connects_elsewhere",
       "E4: another MASTER_PORT on one rank",
       Kind::kRendezvous,
       {5},
       connects_elsewhere},
      {"multicast", "torchcomms#2773", Kind::kDeviceStall, {3}, driver_does_not_return},
      {"bootstrap_waits_for_one",
       "E5: ncclCommInitRank, one rank is late",
       Kind::kRendezvous,
       {13},
       bootstrap_waits_for_one},
      {"bootstrap_root_counts",
       "the same, by the memory of NCCL's root",
       Kind::kRendezvous,
       {5, 13},
       bootstrap_root_counts},
      {"bootstrap_is_not_reached",
       "torchcomms#2773: who is the one?",
       Kind::kDeviceStall,
       {3},
       bootstrap_is_not_reached},
      {"group_made_by_some",
       "A9: new_group by a subset",
       Kind::kRendezvous,
       {0, 1},
       group_made_by_some},
      {"made_one_group_more",
       "a rank makes a group of its own before",
       Kind::kRendezvous,
       {3},
       made_one_group_more},
      {"made_one_group_less",
       "a rank leaves a new_group out of which it is no member",
       Kind::kRendezvous,
       {1},
       made_one_group_less},
      {"groups_in_another_order",
       "a rank makes dp before tp",
       Kind::kRendezvous,
       {1},
       groups_in_another_order},
      {"group_of_all_after_own",
       "a tensor parallel head on two of five ranks",
       Kind::kRendezvous,
       {0, 1},
       group_of_all_after_own},
      {"parts_of_a_split",
       "one number for several groups, as split_group gives it",
       Kind::kUnknown,
       {},
       parts_of_a_split,
       Kind::kRendezvous},
      {"makes_a_group_of_others",
       "not the same group",
       Kind::kUnknown,
       {},
       makes_a_group_of_others,
       Kind::kRendezvous},
      {"group_named_by_hash",
       "a hash counts nothing",
       Kind::kUnknown,
       {},
       group_named_by_hash,
       Kind::kRendezvous},
      {"started_and_gone",
       "srun started it: it is missing",
       Kind::kMissingRank,
       {5},
       started_and_gone,
       Kind::kRendezvous},
  };
}

}  // namespace oddrank::tests
