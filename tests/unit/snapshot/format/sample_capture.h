// A capture in which every field differs from its default, for round trips.
#pragma once

#include "snapshot/capture.h"

namespace oddrank::test {

inline snapshot::ThreadCapture sample_thread(snapshot::Tables& tables) {
  using namespace oddrank::snapshot;  // NOLINT(google-build-using-namespace)
  Frame native{FrameKind::kNative,
               kEvaluation | kHeuristic,
               tables.string("_ZN4c10d4Work4waitEv"),
               tables.string("/lib/libtorch.so"),
               tables.string("ab12"),
               66,
               0xffffffffff600000ULL,
               tables.string("/src/Work.cpp")};
  Frame python{FrameKind::kPython,
               kEntry,
               tables.string("Läufer.step"),
               tables.string("train.py"),
               StringId{},
               1207,
               0,
               StringId{}};
  Stack stack{{tables.frame(native), tables.frame(python), tables.frame(native)},
              StackEnd::kComplete,
              MergeState::kMerged};
  ThreadCapture thread;
  thread.tid = 71;
  thread.name = tables.string("pt_main_thread");
  thread.python_name = tables.string("MainThread");
  thread.has_python = thread.holds_gil = thread.wants_gil = true;
  thread.gil = 2;
  thread.gc_generation = 2;
  thread.collects_garbage = thread.ends_interpreter = true;
  const StackId id = tables.stack(stack);
  thread.samples = {{id, id, 1000, 20, 3, 'S', false, false, true, 78, tables.string("gdb")},
                    {id, StackId{}, 2000, 21, 4, 'D', true, true, false, 0, {}}};
  thread.wait.on = WaitOn::kFile;
  thread.wait.inferred = true;
  thread.wait.syscall = 0;
  thread.wait.syscall_name = tables.string("read");
  thread.wait.wchan = tables.string("pipe_read");
  thread.wait.fd = 7;
  thread.wait.path = tables.string("/d");
  thread.wait.rare.edit().local = tables.string("10.0.0.1:7");
  thread.wait.rare.edit().peer = tables.string("10.0.0.2:6");
  thread.wait.address = 0x7fffffffffffffffULL;
  thread.wait.holder_pid = 72;
  thread.wait.holder_tid = 73;
  thread.wait.holder_alive = Known::kYes;
  thread.wait.detail = tables.string("why");
  thread.wait.quiet_ms = 5;
  thread.wait.how = WaitHow::kFrozen;
  thread.wait.limited = true;
  thread.wait.limit_ms = 5000;
  thread.wait.lock = {LockKind::kOnce,
                      LockOwner::kNobodyElse,
                      LockMode::kWrite,
                      InnerLock::kTimeZone,
                      tables.string("localtime_r"),
                      74,
                      75,
                      2,
                      true};
  thread.wait.rare.edit().awaited = {
      {4, tables.string("pipe:[31]"), tables.string("10.0.0.1:8"), tables.string("10.0.0.2:9"), 255,
       Store::kOther, true, true, ~0ULL, 8, 9, 10, 20, tables.string("pid 20 has it open")},
      {}};
  thread.wait.rare.edit().awaited_count = ~0ULL;
  thread.wait.rare.edit().awaited_ends = 6;
  thread.wait.rare.edit().own_wakers = true;
  thread.wait.rare.edit().about = WaitAbout::kPool;
  thread.wait.rare.edit().pool = {tables.string("DataLoader worker"), 2, 3, {76, 77}};
  thread.wait.rare.edit().notes = tables.string("a remark");
  thread.wait.rare.edit().motion = tables.string("it spins");
  thread.call = CollectiveCall{CallKind::kRecv,
                               tables.string("recv"),
                               tables.string("9"),
                               tables.string("pp"),
                               true,
                               tables.string("0,5"),
                               2,
                               3,
                               tables.string("3,7"),
                               17,
                               99,
                               tables.string("frame")};
  thread.locals = {{1, {{tables.string("step"), tables.string("1207")}}}, {2, {}}};
  thread.wait.rare.edit().key = tables.string("worker/3");
  thread.places = {{1, {{20, 3, true}, {21, -1, false}}, {{4, 5}, {9, 9}}}, {2, {}, {}}};
  thread.loops = {{1,
                   true,
                   false,
                   true,
                   9,
                   12,
                   1500,
                   {{tables.string("exists"), tables.string("'/d/ready'")}, {}}},
                  {2, false, true, false, -1, -1, 0, {}}};
  return thread;
}

// One row of each kind, of node 0.
inline snapshot::CollectiveState sample_collectives(snapshot::Tables& tables) {
  using namespace oddrank::snapshot;  // NOLINT(google-build-using-namespace)
  CollectiveState state;
  FlightRecord record;
  record.rank = 5;
  record.pid = 71;
  record.source = tables.string("/tmp/nccl_trace_rank_5");
  record.version = tables.string("2.10");
  record.written_us = 1'700'000'000'000'000;
  record.groups = {{tables.string("9"), tables.string("pp"), tables.string("0,5")}};
  record.cut = true;
  record.has_entries = true;
  FlightEntry entry;
  entry.record = 7;
  entry.sequence = 8;
  entry.created_ns = 1'700'000'000'000'000'009;
  entry.input_count = 10;
  entry.output_count = 11;
  entry.op = tables.string("all_reduce");
  entry.backend = tables.string("nccl");
  entry.input_sizes = tables.string("[10]");
  entry.output_sizes = tables.string("[11]");
  entry.input_types = tables.string("Float");
  entry.output_types = tables.string("Half");
  entry.place = tables.string("step (train.py:88)");
  entry.peer = 3;
  entry.state = FlightState::kStarted;
  entry.retired = true;
  record.entries = {entry};
  state.flight = {record};
  RasRank rank{1, tables.string("10.0.0.1"), 9, 71, 2, RasPresence::kMissing, 7, 6, true, {}, {}};
  rank.counts = {1, 2, 3, 4, 5};
  rank.later = {1, 2, 3, 4, 6};
  state.ras = {{0, tables.string("0x1 0x2:0x3"), tables.string("2.28.9"), 8, {rank}}};
  state.log = {{0,
                LogKind::kDesync,
                4,
                77,
                tables.string("ALLREDUCE"),
                {2, 3},
                tables.string("[4] joined but"),
                tables.string("/job.log")}};
  state.devices = {{0,
                    1,
                    tables.string("H100"),
                    100,
                    2,
                    90'000,
                    700'000,
                    512,
                    81'559,
                    1980,
                    3,
                    8,
                    0x48,
                    412,
                    415,
                    tables.string("0000:3b:00"),
                    79,
                    41,
                    tables.string("79, pid=7"),
                    {71}}};
  state.ports = {{0, tables.string("mlx5_0"), 1, tables.string("ACTIVE"), tables.string("LinkUp"),
                  tables.string("400 Gb/sec"), 1, 2, 300, 301}};
  return state;
}

// One node with one process; each field has a value of its own.
inline snapshot::Capture sample_capture(const std::string& host = "n0", pid_t pid = 71) {
  using namespace oddrank::snapshot;  // NOLINT(google-build-using-namespace)
  Capture capture;
  capture.job = {"4711", JobSource::kSlurm, "train", "ada", "RUNNING", "/o.txt", 8, 60, 70,
                 {host}, {"one hour"}};
  capture.nodes = {{host, true, "slow", 1234, {0, 1}, {"a note", "another"}}};
  Tables& tables = capture.tables;
  ProcessCapture process;
  process.pid = pid;
  process.parent = 7;
  process.is_rank = true;
  process.owner = pid;
  process.rank = 5;
  process.local_rank = 1;
  process.world_size = 8;
  process.job_key = tables.string("slurm 4711.0");
  process.name = tables.string("python3");
  process.groups = {{tables.string("0"), {}, tables.string("gloo"), true, {}},
                    {tables.string("9"), tables.string("pp"), tables.string("nccl"), false,
                     tables.string("0,5")}};
  process.executable = tables.string("/usr/bin/python3");
  process.command = tables.string("python3 train.py");
  process.state = 'S';
  process.start_us = 123456789;
  process.written_bytes = 4711;
  process.read_bytes = 815;
  process.read_us = 987654321;
  process.read = ReadState::kPartial;
  process.why = tables.string("no Python");
  process.python_version = tables.string("3.11.7");
  process.outlives_rank = true;
  process.crash = snapshot::Crash{11, 1, 0x10, 77, 78, tables.string("it said")};
  process.ending = Ending::kAfterException;
  process.exception = tables.string("ValueError");
  process.exit_code = 9;
  process.environment = {{tables.string("RANK"), tables.string("5")}};
  process.setup = {{tables.string("PyTorch"), tables.string("2.13.0+cpu")}};
  process.connections = {{tables.string("10.0.0.1:9"), tables.string("10.0.0.2:8")}};
  process.proxies = {{tables.string("0x4f"), 8, 24, 32, true, 1, false, 0x18, 0x08, 328, 326, 322,
                      336, tables.string("IB"), tables.string("mlx5_2")}};
  process.heads = {{tables.string("0x7c/1"), tables.string("0x4f"), 32, 2, 4, 0x18, 0x08, 328, 330,
                    326, 325, 322, 336, tables.string("SHARP 1")}};
  process.roots = {{8, 5, 3, tables.string("2"), tables.string("4,6")}};
  process.store = {{tables.string("ready/0"), 0}, {tables.string("ready/1"), 3}};
  process.transfers = {{tables.string("10.0.0.1:7"), tables.string("10.0.0.2:8"),
                        tables.string("eth0"), snapshot::TransferTrouble::kNotTaken, true, 6,
                        25'000, 96, 4711, 815, 72}};
  process.threads = {sample_thread(tables)};
  process.tasks = {{tables.string("Task-7"),
                    TaskState::kWaits,
                    true,
                    process.threads.front().samples.front().stack,
                    tables.string("<_GatheringFuture>"),
                    {tables.string("load"), tables.string("<Future>")},
                    process.pid,
                    process.pid + 1,
                    process.pid + 2,
                    {true, false, true, {tables.string("3f2a")}},
                    process.threads.front().wait.rare->kept,
                    true}};
  capture.processes.push_back(std::move(process));
  capture.collectives = sample_collectives(tables);
  return capture;
}

}  // namespace oddrank::test
