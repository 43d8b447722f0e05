#include "collectives/find_calls.h"

#include <string>

#include "tests/support/catch.h"
#include "tests/unit/collectives/thread_builder.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;
using snapshot::CollectiveCall;

constexpr std::string_view kWorkWait =
    "_ZN4c10d4Work4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE";
constexpr std::string_view kDoWait = "_ZN4c10d8TCPStore6doWaitEv";

TEST_CASE("all_reduce of the default group") {
  ThreadBuilder builder;
  builder.native("__futex_abstimed_wait_common")
      .native(kWorkWait)
      .python("all_reduce", kC10dFile, 3252, {{"group", "<ProcessGroup>"}})
      .python("wrapper", kLoggerFile, 83, {{"args", "(<Tensor>,)"}, {"kwargs", "<dict of 0>"}})
      .python("train", "/job/train.py", 40);
  const auto& call = found_call(builder);
  CHECK(call.kind == CallKind::kCollective);
  CHECK(builder_text(builder, call.op) == "all_reduce");
  CHECK(call.whole_world);
  CHECK(builder_text(builder, call.evidence) ==
        "frame all_reduce (distributed_c10d.py:3252), called without a group");
}

TEST_CASE("a group that is not known is not the world") {
  ThreadBuilder builder;
  builder.python("all_reduce", kC10dFile, 3252, {{"group", "<ProcessGroup>"}});
  const auto& call = found_call(builder);
  CHECK(!call.whole_world);
  CHECK(builder_text(builder, call.members).empty());
  CHECK(builder_text(builder, call.group).empty());
  CHECK(builder_text(builder, call.evidence).find("group=<ProcessGroup>") != std::string::npos);
}

TEST_CASE("the workers of torch.distributed.rpc meet in a call of Python code") {
  constexpr std::string_view kApi = "/x/torch/distributed/rpc/api.py";
  const auto meeting = [&](std::string_view names, std::int32_t world) {
    ThreadBuilder builder;
    builder.capture.processes[0].world_size = world;
    builder.native("sem_wait")
        .python("Condition.wait", "/usr/lib/python3.11/threading.py", 327)
        .python("_all_gather", kApi, 257, {{"worker_names", names}, {"sequence_num", "1"}})
        .python("shutdown", kApi, 382);
    const auto& call = found_call(builder);
    CHECK(call.kind == CallKind::kCollective);
    CHECK(call.sequence == 1);
    CHECK(builder_text(builder, call.group) == "RPC workers");
    return std::string(builder_text(builder, call.members));
  };
  CHECK(meeting("<set of 4>", 4) == "0-3");
  CHECK(meeting("{'a', 'b', 'c'}", 3) == "0-2");
  CHECK(meeting("<set of 3>", 4).empty());  // which ranks they are is not known
  CHECK(meeting("<set>", 4).empty());
  CHECK(meeting("<set of x>", 4).empty());
  CHECK(meeting("<set of 4>", -1).empty());
}

TEST_CASE("the tag of a transfer is what gloo has, not what the program gave") {
  ThreadBuilder send;
  send.python("send", kC10dFile, 2753, {{"dst", "1"}, {"tag", "7"}});
  CHECK(found_call(send).tag == -1);  // NCCL knows no tags
  CollectiveCall told;
  told.tag = 4;
  send.thread().call = told;
  CHECK(found_call(send).tag == 4);
  ThreadBuilder broadcast;
  broadcast.python("broadcast", kC10dFile, 1, {{"src", "3"}});
  broadcast.thread().call = told;
  CHECK(found_call(broadcast).tag == -1);
}

TEST_CASE("a thread that waits for the GIL is in no call") {
  ThreadBuilder builder;
  builder.native("pthread_cond_timedwait")
      .native("take_gil")
      .python("broadcast", kC10dFile, 3151, {{"src", "0"}, {"group", "None"}});
  CHECK(found_call(builder).root == 0);
  builder.thread().wants_gil = true;
  find_calls(builder.capture);
  CHECK(!builder.thread().call);
}

TEST_CASE("roots and peers come from the frame") {
  ThreadBuilder broadcast;
  broadcast.python("broadcast", kC10dFile, 1, {{"src", "3"}, {"group", "None"}});
  CHECK(found_call(broadcast).root == 3);
  CHECK(found_call(broadcast).peer == -1);
  ThreadBuilder reduce;
  reduce.python("reduce", kC10dFile, 1, {{"dst", "2"}});
  CHECK(found_call(reduce).root == 2);
  ThreadBuilder send;
  send.python("send", kC10dFile, 1, {{"dst", "5"}});
  CHECK(found_call(send).kind == CallKind::kSend);
  CHECK(found_call(send).peer == 5);
  ThreadBuilder recv;
  recv.python("recv", kC10dFile, 1, {{"src", "None"}});
  CHECK(found_call(recv).kind == CallKind::kRecv);
  CHECK(found_call(recv).peer == -1);
  ThreadBuilder hostile;
  hostile.python("recv", kC10dFile, 1, {{"src", "-7"}});
  CHECK(found_call(hostile).peer == -1);
}

TEST_CASE("a rank within the group is a global rank only in the world group") {
  ThreadBuilder world;
  world.python("broadcast", kC10dFile, 1, {{"src", "None"}, {"group_src", "1"}, {"group", "None"}});
  CHECK(found_call(world).root == 1);
  ThreadBuilder group;
  group.python("broadcast", kC10dFile, 1,
               {{"src", "None"}, {"group_src", "1"}, {"group", "<ProcessGroup>"}});
  CHECK(found_call(group).root == -1);
}

TEST_CASE("a collective inside an object collective has the same group") {
  ThreadBuilder builder;
  builder.python("broadcast", kC10dFile, 3140, {{"group", "<ProcessGroup>"}})
      .python("wrapper", kLoggerFile, 83, {{"args", "(<Tensor>,)"}, {"kwargs", "<dict of 2>"}})
      .python("broadcast_object_list", kC10dFile, 4020)
      .python("wrapper", kLoggerFile, 83, {{"args", "(['x'], 0)"}, {"kwargs", "<dict of 0>"}});
  const auto& call = found_call(builder);
  CHECK(builder_text(builder, call.op) == "broadcast");
  CHECK(call.whole_world);
  CHECK(builder_text(builder, call.evidence).find("broadcast_object_list") != std::string::npos);
}

TEST_CASE("initialisation has the name that the program used") {
  ThreadBuilder builder;
  builder.native(kDoWait)
      .python("_store_based_barrier", kC10dFile, 700)
      .python("_new_group_with_tag", kC10dFile, 5500)
      .python("new_group", kC10dFile, 5400)
      .python("main", "/job/train.py");
  CHECK(found_call(builder).kind == CallKind::kRendezvous);
  CHECK(builder_text(builder, found_call(builder).op) == "new_group");
}

TEST_CASE("only its members come to a group with local synchronisation") {
  const auto members = [](const char* local, const char* ranks) {
    ThreadBuilder builder;
    builder.native(kDoWait)
        .python("_new_group_with_tag", kC10dFile, 5500)
        .python("new_group", kC10dFile, 5400,
                {{"ranks", ranks}, {"use_local_synchronization", local}})
        .python("main", "/job/train.py");
    return std::string(builder_text(builder, found_call(builder).members));
  };
  CHECK(members("True", "[3, 1]") == "1,3");
  CHECK(members("False", "[3, 1]").empty());
  CHECK(members("True", "[1, 2, 3, 4, ... 6 items]").empty());
  CHECK(members("True", "None").empty());
  CHECK(members("True", "[1, <Tensor>]").empty());
}

TEST_CASE("a collective that still creates its communicator is a rendezvous") {
  ThreadBuilder builder;
  builder.native("ncclCommInitRankConfig").python("all_reduce", kC10dFile, 3240);
  const auto& call = found_call(builder);
  CHECK(call.kind == CallKind::kRendezvous);
  CHECK(builder_text(builder, call.op) == "all_reduce");
  CHECK(builder_text(builder, call.evidence).find("ncclCommInitRankConfig") != std::string::npos);
}

TEST_CASE("a rank in the driver waits for no other rank's communicator") {
  ThreadBuilder builder;
  builder.native("ioctl")
      .native("cuMulticastBindMem")
      .native("ncclCommInitRankConfig")
      .python("all_reduce", kC10dFile, 3240);
  CHECK(found_call(builder).kind == CallKind::kRendezvous);
  builder.thread().wait.on = snapshot::WaitOn::kDevice;
  find_calls(builder.capture);
  CHECK(!builder.thread().call);
}

TEST_CASE("DDP's backward has native frames only") {
  ThreadBuilder builder;
  builder.native(kWorkWait)
      .native("_ZN4c10d7Reducer17finalize_backwardEv")
      .native("_ZN5torch8autograd6Engine11thread_mainERKSt10shared_ptrINS0_9GraphTaskEE")
      .python("backward", "/v/torch/autograd/__init__.py")
      .python("train", "/job/train.py");
  const auto& call = found_call(builder);
  CHECK(call.kind == CallKind::kCollective);
  CHECK(builder_text(builder, call.op) == "all_reduce");
  CHECK(!call.whole_world);
  CHECK(builder_text(builder, call.evidence) == "frame c10d::Reducer::finalize_backward");
}

TEST_CASE("the thread of gloo that does the work") {
  ThreadBuilder builder;
  builder.native("_ZN4gloo9transport3tcp13UnboundBuffer8waitRecvEPi")
      .native("_ZN4gloo9allreduceERKNS_16AllreduceOptionsE")
      .native("_ZN4c10d16ProcessGroupGloo7runLoopEi");
  CHECK(builder_text(builder, found_call(builder).op) == "all_reduce");
}

TEST_CASE("functions in an unnamed namespace") {
  ThreadBuilder builder;
  builder.native("_ZN4gloo12_GLOBAL__N_14ringEv")
      .native("_ZN4c10d12_GLOBAL__N_118AsyncAllreduceWork3runEv");
  CHECK(builder_text(builder, found_call(builder).op) == "all_reduce");
}

TEST_CASE("gloo's send and receive without a Python frame") {
  ThreadBuilder send;
  send.native(
      "_ZN4c10d16ProcessGroupGloo8SendWork4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
  CHECK(found_call(send).kind == CallKind::kSend);
  ThreadBuilder recv;
  recv.native(
      "_ZN4c10d16ProcessGroupGloo8RecvWork4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE");
  CHECK(found_call(recv).kind == CallKind::kRecv);
}

TEST_CASE("a wait for work whose operation no frame names") {
  ThreadBuilder builder;
  builder.native(kWorkWait).python("step", "/job/train.py");
  CHECK(found_call(builder).kind == CallKind::kCollective);
  CHECK(builder_text(builder, found_call(builder).op).empty());
}

TEST_CASE("if stacks did not merge, both are searched") {
  ThreadBuilder builder;
  builder.native(kDoWait);
  snapshot::Tables& tables = builder.capture.tables;
  snapshot::Stack native = tables.stack(builder.thread().samples[0].stack);
  native.merge = snapshot::MergeState::kMismatch;
  snapshot::Frame frame;
  frame.kind = snapshot::FrameKind::kPython;
  frame.function = tables.string("barrier");
  frame.file = tables.string(kC10dFile);
  snapshot::Stack python;
  python.frames.push_back(tables.frame(frame));
  builder.thread().samples.edit(0).stack = tables.stack(native);
  builder.thread().samples.edit(0).python_stack = tables.stack(python);
  builder.thread().locals.push_back({0, {{tables.string("group"), tables.string("None")}}});
  const auto& call = found_call(builder);
  CHECK(builder_text(builder, call.op) == "barrier");
  CHECK(call.kind == CallKind::kCollective);  // the native frames may be of another instant
  CHECK(call.whole_world);
}

TEST_CASE("a parent's call below the frames of a forked worker is not the worker's") {
  ThreadBuilder builder;
  builder.python("work", "/job/train.py")
      .python("BaseProcess._bootstrap", "/usr/lib/python3.11/multiprocessing/process.py")
      .python("new_group", kC10dFile);
  find_calls(builder.capture);
  CHECK(!builder.thread().call);
}

TEST_CASE("code that a collective's function runs beside its call is in no call") {
  ThreadBuilder pickles;
  pickles.native("clock_nanosleep")
      .python("Sample.__reduce__", "/job/data.py", 7)
      .python("_object_to_tensor", kC10dFile, 3405)
      .python("all_gather_object", kC10dFile, 3500);
  ThreadBuilder large_object;
  large_object.native("save")
      .python("_object_to_tensor", kC10dFile)
      .python("gather_object", kC10dFile);
  ThreadBuilder handler;
  handler.native("clock_nanosleep")
      .python("on_signal", "/job/train.py")
      .python("all_reduce", kC10dFile);
  for (ThreadBuilder* builder : {&pickles, &large_object, &handler}) {
    find_calls(builder->capture);
    CHECK_FALSE(builder->thread().call);
  }
}

TEST_CASE("code within a collective's function that waits in the library is in the call") {
  ThreadBuilder wrapper;
  wrapper.native(kWorkWait).python("traced", "/job/trace.py").python("all_reduce", kC10dFile);
  CHECK(builder_text(wrapper, found_call(wrapper).op) == "all_reduce");
  ThreadBuilder own_group;  // of Python code
  own_group.native("__futex_abstimed_wait_common")
      .python("allreduce", "/v/torchft/process_group.py")
      .native("_ZN4c10d14PyProcessGroup9allreduceEv")
      .python("all_reduce", kC10dFile);
  CHECK(builder_text(own_group, found_call(own_group).op) == "all_reduce");
  ThreadBuilder only_python;  // what is inside is not known
  only_python.python("traced", "/job/trace.py").python("all_reduce", kC10dFile);
  CHECK(builder_text(only_python, found_call(only_python).op) == "all_reduce");
}

TEST_CASE("threads that are in no call, and calls found earlier") {
  ThreadBuilder builder;
  builder.native("epoll_wait").native("_ZN4gloo9transport3tcp4Loop3runEv");
  builder.thread().call.emplace();
  find_calls(builder.capture);
  CHECK(!builder.thread().call);
  ThreadBuilder empty;
  empty.thread().samples.clear();
  find_calls(empty.capture);
  CHECK(!empty.thread().call);
}

TEST_CASE("the first transfer between two ranks makes a communicator of these two") {
  for (const char* function : {"isend", "irecv"}) {
    const bool sends = std::string_view(function) == "isend";
    for (const bool batched : {false, true}) {
      INFO(function << batched);
      ThreadBuilder builder;
      builder.capture.processes[0].is_rank = true;
      builder.capture.processes[0].rank = 3;
      builder.native("ncclCommInitRankConfig")
          .native("c10d::ProcessGroupNCCL::pointToPoint")
          .python(function, kC10dFile, 2597, {{"group", "None"}, {sends ? "dst" : "src", "2"}});
      if (batched) {
        builder.python("batch_isend_irecv", kC10dFile, 2900);
      }
      const auto& call = found_call(builder);
      CHECK(call.kind == CallKind::kRendezvous);
      CHECK(call.whole_world == batched);
      CHECK(builder_text(builder, call.members) == (batched ? "" : "2-3"));
      CHECK((builder_text(builder, call.op) == "send or recv") == !batched);
    }
  }
}

}  // namespace
}  // namespace oddrank::collectives
