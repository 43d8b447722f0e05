#include "collectives/call_table.h"

#include <string>

#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;

TEST_CASE("a Python function counts in its own file only") {
  const std::string_view file =
      "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py";
  REQUIRE(find_python_call("all_reduce", file) != nullptr);
  CHECK(find_python_call("all_reduce", file)->kind == CallKind::kCollective);
  CHECK(find_python_call("send", file)->kind == CallKind::kSend);
  CHECK(find_python_call("recv", file)->kind == CallKind::kRecv);
  CHECK(find_python_call("new_group", file)->kind == CallKind::kRendezvous);
  CHECK(find_python_call("all_reduce", "/job/train.py") == nullptr);
  CHECK(find_python_call("get_rank", file) == nullptr);
}

TEST_CASE("parameters end with the group, if there are any") {
  for (const PythonCall& call : python_calls()) {
    INFO(call.function);
    CHECK((call.parameters.empty() || call.parameters == "group" ||
           call.parameters.ends_with(" group")));
  }
}

TEST_CASE("native functions are found mangled and readable") {
  REQUIRE(find_native_call("_ZN4c10d8TCPStore14waitForWorkersEv") != nullptr);
  CHECK(find_native_call("_ZN4c10d8TCPStore14waitForWorkersEv")->kind == CallKind::kRendezvous);
  REQUIRE(find_native_call("_Z13shm_allreducelRN2at6TensorE") != nullptr);
  CHECK(find_native_call("_Z13shm_allreducelRN2at6TensorE")->op == "all_reduce");
  REQUIRE(find_native_call("_ZN4gloo9allreduceERKNS_16AllreduceOptionsE") != nullptr);
  CHECK(find_native_call("_ZN4gloo9allreduceERKNS_16AllreduceOptionsE")->op == "all_reduce");
  for (const char* name : {"_ZN4c10d16ProcessGroupNCCL8WorkNCCL4waitENSt6chrono8durationIlEE",
                           "_ZN4c10d5nccl28WorkNCCL4waitENSt6chrono8durationIlEE"}) {
    REQUIRE(find_native_call(name) != nullptr);
    CHECK(find_native_call(name)->kind == CallKind::kCollective);
  }
  REQUIRE(find_native_call("ncclAllReduce") != nullptr);
  CHECK(find_native_call("ncclAllReduce")->op == "all_reduce");
  REQUIRE(find_native_call("ncclCommInitRankConfig") != nullptr);
  CHECK(find_native_call("ncclCommInitRankConfig")->kind == CallKind::kRendezvous);
  for (const char* name : {"_ZN3xla43DistributedRuntimeCoordinationServiceClient7ConnectEv",
                           "_ZN3xla24CoordinationServiceAgent7ConnectEv",
                           "_ZN3tsl12_GLOBAL__N_128CoordinationServiceAgentImpl7ConnectEv"}) {
    REQUIRE(find_native_call(name) != nullptr);
    CHECK(find_native_call(name)->kind == CallKind::kRendezvous);
  }
  CHECK(find_native_call("MPI_Allreduce")->op == "all_reduce");
  CHECK(find_native_call("MPI_Reduce")->op == "reduce");
  CHECK(find_native_call("PMPI_Comm_create_group")->op == "comm_create_group");
  CHECK(find_native_call("PMPI_Intercomm_create")->op == "intercomm_create");
  CHECK(find_native_call("MPI_Comm_create")->op == "comm_create");
  CHECK(find_native_call("MPI_Alltoallw")->op == "all_to_allv");
  REQUIRE(find_native_call("ompi_mpi_finalize") != nullptr);
  CHECK(find_native_call("ompi_mpi_finalize")->op == "finalize");
  CHECK(find_native_call("ompi_mpi_finalized") == nullptr);
}

TEST_CASE("a name that only sounds like a call is none") {
  CHECK(find_native_call("") == nullptr);
  CHECK(find_native_call("epoll_wait") == nullptr);
  CHECK(find_native_call("_ZN4gloo9transport3tcp4Loop3runEv") == nullptr);
  CHECK(find_native_call("_ZN4c10d16ProcessGroupGloo7runLoopEi") == nullptr);
  CHECK(find_native_call("_ZN4gloo") == nullptr);  // damaged
}

}  // namespace
}  // namespace oddrank::collectives
