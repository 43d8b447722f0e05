#include "collectives/group_join.h"

#include <string>

#include "collectives/find_calls.h"
#include "snapshot/replicas/number_replicas.h"
#include "tests/support/catch.h"
#include "tests/unit/collectives/thread_builder.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;

constexpr std::string_view kBatch =
    "[<P2POp op=irecv peer=3 group=<ProcessGroup 5>>, <P2POp op=isend peer=1 group=<ProcessGroup "
    "5>>]";
constexpr std::string_view kRecvWait =
    "_ZN4c10d16ProcessGroupGloo8RecvWork4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE";

void add_group(ThreadBuilder& builder,
               std::string_view name,
               std::string_view members,
               std::string_view label = "") {
  snapshot::Tables& tables = builder.capture.tables;
  builder.capture.processes[0].groups.push_back({tables.string(name), tables.string(label),
                                                 tables.string("gloo"), members.empty(),
                                                 tables.string(members)});
}

// Returns the groups of a rank in the default group and in group 5 {4,6,2}.
ThreadBuilder in_two_groups() {
  ThreadBuilder builder;
  add_group(builder, "0", "");
  add_group(builder, "5", "4,6,2", "tp");
  return builder;
}

TEST_CASE("a batch of sends and receives is read, or not at all") {
  const auto operations = p2p_operations(kBatch);
  REQUIRE(operations.size() == 2);
  CHECK(operations[0] == P2pOperation{true, 3, "<ProcessGroup 5>"});
  CHECK(operations[1] == P2pOperation{false, 1, "<ProcessGroup 5>"});
  CHECK(p2p_operations("<P2POp op=isend peer=0>").size() == 1);
  CHECK(p2p_operations("[<P2POp op=irecv peer=3>, <Tensor>]").empty());
  CHECK(p2p_operations("[<P2POp op=irecv peer=3>, ... 9 items]").empty());
  CHECK(p2p_operations("<P2POp op=<function> peer=3>").empty());
  CHECK(p2p_operations("<P2POp op=irecv peer=None>").empty());
  CHECK(p2p_operations("<P2POp op=irecv peer=-3>").empty());
  CHECK(p2p_operations("'<P2POp op=irecv peer=3>'").empty());
  CHECK(p2p_operations("<P2POp op=>").empty());
  CHECK(p2p_operations("[]").empty());
  CHECK(p2p_operations("").empty());
}

TEST_CASE("a call's group is the one that its frame holds") {
  ThreadBuilder builder = in_two_groups();
  builder.python("broadcast", kC10dFile, 3145,
                 {{"src", "None"}, {"group_src", "2"}, {"group", "<ProcessGroup 5>"}});
  const auto& call = found_call(builder);
  CHECK(builder_text(builder, call.group) == "5");
  CHECK(builder_text(builder, call.label) == "tp");
  CHECK(builder_text(builder, call.members) == "4,6,2");
  CHECK(!call.whole_world);
  CHECK(call.root == 2);  // the third of them
}

TEST_CASE("a rank beyond the group's size is nobody") {
  ThreadBuilder builder = in_two_groups();
  builder.python("broadcast", kC10dFile, 3145,
                 {{"src", "None"}, {"group_src", "7"}, {"group", "<ProcessGroup 5>"}});
  CHECK(found_call(builder).root == -1);
}

TEST_CASE("the default group's object is the world") {
  ThreadBuilder builder = in_two_groups();
  builder.python("all_reduce", kC10dFile, 3245, {{"group", "<ProcessGroup 0>"}});
  const auto& call = found_call(builder);
  CHECK(call.whole_world);
  CHECK(builder_text(builder, call.members).empty());
  CHECK(builder_text(builder, call.group).empty());
}

TEST_CASE("a group that this process does not have stays unknown") {
  ThreadBuilder builder = in_two_groups();
  builder.python("all_reduce", kC10dFile, 3245, {{"group", "<ProcessGroup>"}});
  const auto& call = found_call(builder);
  CHECK(!call.whole_world);
  CHECK(builder_text(builder, call.members).empty());
  CHECK(builder_text(builder, call.group).empty());
}

TEST_CASE("if there is only one group, a call of torch is in it") {
  ThreadBuilder builder;
  add_group(builder, "0", "");
  builder.native("_ZN4c10d7Reducer17finalize_backwardEv");
  CHECK(found_call(builder).whole_world);
  CHECK(builder_text(builder, found_call(builder).evidence).find("only group") !=
        std::string::npos);
  ThreadBuilder foreign;
  add_group(foreign, "0", "");
  foreign.native("MPI_Allreduce");
  CHECK(!found_call(foreign).whole_world);
}

TEST_CASE("a request of a batch in which only one can be meant") {
  ThreadBuilder builder = in_two_groups();
  builder.native(kRecvWait).python("pass_on", "/job/train.py", 12, {{"ops", kBatch}});
  const auto& call = found_call(builder);
  CHECK(call.kind == CallKind::kRecv);
  CHECK(call.peer == 3);
  CHECK(builder_text(builder, call.group) == "5");
}

TEST_CASE("with two receives in the batch no peer is named") {
  ThreadBuilder builder = in_two_groups();
  builder.native(kRecvWait).python("pass_on", "/job/train.py", 12,
                                   {{"ops", "[<P2POp op=irecv peer=3>, <P2POp op=irecv peer=1>]"}});
  CHECK(found_call(builder).peer == -1);
}

TEST_CASE("functional collectives have the group's name") {
  ThreadBuilder builder = in_two_groups();
  builder.python("all_reduce", kC10dFile, 3245, {{"group_name", "'5'"}});
  CHECK(builder_text(builder, found_call(builder).group) == "5");
}

TEST_CASE("a call in shared memory has the members that all groups of the process have") {
  const auto members_with = [](std::string_view second) {
    ThreadBuilder builder;
    for (const std::string_view members : {std::string_view(), std::string_view("1,0"), second}) {
      add_group(builder, members, members);
      builder.capture.processes[0].groups.back().size = members == "0" ? 1 : 2;
    }
    builder.native("_Z13shm_allreducelRN2at6TensorE").python("all_reduce", "/v/communicator.py");
    return builder_text(builder, found_call(builder).members);
  };
  CHECK(members_with("0") == "0-1");
  CHECK(members_with("0,1") == "0-1");
  CHECK(members_with("0,2").empty());
}

TEST_CASE("the calls of torchft are those of its own groups") {
  ThreadBuilder quorum;
  quorum.native("<torchft::ManagerClient>::__pymethod__quorum__")
      .python("Manager._async_quorum", "/v/torchft/manager.py");
  CHECK(builder_text(quorum, found_call(quorum).op) == "quorum");
  CHECK(builder_text(quorum, found_call(quorum).group) == snapshot::kLighthouse);
  ThreadBuilder commit;
  commit.native("<torchft::ManagerClient>::__pymethod_should_commit__")
      .python("Manager.should_commit", "/v/torchft/manager.py");
  CHECK(found_call(commit).whole_world);
  ThreadBuilder gradients;  // the only group of torch is not the one that is meant
  add_group(gradients, "0", "");
  gradients.native("_ZN4c10d4Work4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE")
      .python("_ManagedWork.wait", "/v/torchft/manager.py")
      .python("DistributedDataParallel._comm_hook", "/v/torchft/ddp.py");
  CHECK(builder_text(gradients, found_call(gradients).group) == snapshot::kAcrossReplicas);
  CHECK_FALSE(found_call(gradients).whole_world);
}

}  // namespace
}  // namespace oddrank::collectives
