#include "collectives/call_table.h"

#include <algorithm>
#include <array>
#include <string>

#include "base/names/demangle.h"

namespace oddrank::collectives {
namespace {

using snapshot::CallKind;

constexpr std::string_view kC10d = "torch/distributed/distributed_c10d.py";
constexpr std::string_view kFunctional = "torch/distributed/_functional_collectives.py";

constexpr PythonCall collective(std::string_view function,
                                std::string_view parameters,
                                PeerLocal peer = PeerLocal::kNone) {
  return {function, kC10d, CallKind::kCollective, parameters, peer, false};
}
constexpr PythonCall of_objects(std::string_view function,
                                std::string_view parameters,
                                PeerLocal peer = PeerLocal::kNone,
                                CallKind kind = CallKind::kCollective) {
  return {function, kC10d, kind, parameters, peer, true};
}
constexpr PythonCall rendezvous(std::string_view function, std::string_view file = kC10d) {
  return {function, file, CallKind::kRendezvous, "", PeerLocal::kNone, false};
}

// Signatures as in torch 1.13 to 2.13: the order of the parameters up to `group` did not change.
constexpr std::array kPythonCalls = {
    collective("all_reduce", "tensor op group"),
    collective("all_reduce_coalesced", "tensors op group"),
    collective("broadcast", "tensor src group", PeerLocal::kSrcIsRoot),
    collective("reduce", "tensor dst op group", PeerLocal::kDstIsRoot),
    collective("all_gather", "tensor_list tensor group"),
    collective("all_gather_single", "output_tensor input_tensor group"),
    collective("all_gather_into_tensor", "output_tensor input_tensor group"),
    collective("_all_gather_base", "output_tensor input_tensor group"),
    collective("all_gather_coalesced", "output_tensor_lists input_tensor_list group"),
    collective("gather", "tensor gather_list dst group", PeerLocal::kDstIsRoot),
    collective("scatter", "tensor scatter_list src group", PeerLocal::kSrcIsRoot),
    collective("reduce_scatter", "output input_list op group"),
    collective("reduce_scatter_single", "output input op group"),
    collective("reduce_scatter_tensor", "output input op group"),
    collective("_reduce_scatter_base", "output input op group"),
    collective("all_to_all", "output_tensor_list input_tensor_list group"),
    collective("all_to_all_single", "output input output_split_sizes input_split_sizes group"),
    collective("barrier", "group"),
    collective("monitored_barrier", "group"),
    of_objects("all_gather_object", "object_list obj group"),
    of_objects("gather_object", "obj object_gather_list dst group", PeerLocal::kDstIsRoot),
    of_objects("broadcast_object_list", "object_list src group", PeerLocal::kSrcIsRoot),
    of_objects("scatter_object_list",
               "scatter_object_output_list scatter_object_input_list src group",
               PeerLocal::kSrcIsRoot),
    of_objects("send_object_list", "object_list dst group", PeerLocal::kDstIsPeer, CallKind::kSend),
    of_objects("recv_object_list", "object_list src group", PeerLocal::kSrcIsPeer, CallKind::kRecv),
    PythonCall{"send", kC10d, CallKind::kSend, "tensor dst group", PeerLocal::kDstIsPeer, false},
    PythonCall{"isend", kC10d, CallKind::kSend, "tensor dst group", PeerLocal::kDstIsPeer, false},
    PythonCall{"recv", kC10d, CallKind::kRecv, "tensor src group", PeerLocal::kSrcIsPeer, false},
    PythonCall{"irecv", kC10d, CallKind::kRecv, "tensor src group", PeerLocal::kSrcIsPeer, false},
    PythonCall{"batch_isend_irecv", kC10d, CallKind::kSend, "", PeerLocal::kNone, false},
    // How the workers of torch.distributed.rpc meet, before they end and otherwise.
    PythonCall{"_all_gather", kRpcFile, CallKind::kCollective, "", PeerLocal::kNone, false},
    PythonCall{"wait_tensor", kFunctional, CallKind::kCollective, "", PeerLocal::kNone, false},
    rendezvous("init_process_group"),
    rendezvous("new_group"),
    rendezvous("new_subgroups"),
    rendezvous("new_subgroups_by_enumeration"),
    rendezvous("split_group"),
    rendezvous("_store_based_barrier"),
    rendezvous("destroy_process_group"),
    rendezvous("_create_c10d_store", "torch/distributed/rendezvous.py"),
    rendezvous("_env_rendezvous_handler", "torch/distributed/rendezvous.py"),
    rendezvous("_tcp_rendezvous_handler", "torch/distributed/rendezvous.py"),
};

constexpr NativeCall of_all(std::string_view name, std::string_view op) {
  return {name, op, CallKind::kCollective};
}
constexpr NativeCall starts(std::string_view name, std::string_view op = "") {
  return {name, op, CallKind::kRendezvous};
}

// A transfer of MPI, or a wait for one: which kind it is, the open request says.
constexpr NativeCall of_request(std::string_view name, std::string_view op, CallKind kind) {
  return {name, op, kind, false, true};
}

constexpr NativeCall in_store(std::string_view name) {
  return {name, "", CallKind::kRendezvous, true};
}

// The names of operations are torch.distributed's, so that ranks agree on them whatever frame they
// are read from.
constexpr std::array kNativeCalls = {
    starts("c10d::TCPStore::TCPStore"),
    starts("c10d::TCPStore::waitForWorkers"),
    in_store("c10d::TCPStore::*"),
    in_store("c10d::PrefixStore::*"),
    in_store("c10d::FileStore::*"),
    in_store("c10d::HashStore::*"),
    starts("gloo::rendezvous::*"),
    starts("ncclCommInit*", "ncclCommInitRank"),
    starts("ncclCommSplit", "ncclCommSplit"),
    starts("ncclCommFinalize", "ncclCommFinalize"),
    starts("ncclCommDestroy", "ncclCommDestroy"),
    starts("bootstrapInit"),
    starts("bootstrapAllGather"),
    starts("bootstrapBarrier"),
    starts("bootstrapIntraNode*"),
    starts("bootstrapSend"),
    starts("bootstrapRecv"),
    starts("MPI_Init*", "MPI_Init"),
    // The coordination service of JAX; up to 2025 its agent was tsl's.
    starts("xla::DistributedRuntimeCoordinationServiceClient::Connect",
           "jax.distributed.initialize"),
    starts("xla::DistributedRuntimeCoordinationServiceClient::Shutdown",
           "jax.distributed.shutdown"),
    of_all("xla::DistributedRuntimeCoordinationServiceClient::WaitAtBarrier", "barrier"),
    in_store("xla::DistributedRuntimeCoordinationServiceClient::BlockingKeyValueGet*"),
    starts("xla::CoordinationServiceAgent::Connect", "jax.distributed.initialize"),
    starts("xla::CoordinationServiceAgent::Shutdown*", "jax.distributed.shutdown"),
    of_all("xla::CoordinationServiceAgent::WaitAtBarrier", "barrier"),
    in_store("xla::CoordinationServiceAgent::GetKeyValue*"),
    starts("tsl::CoordinationServiceAgentImpl::Connect", "jax.distributed.initialize"),
    starts("tsl::CoordinationServiceAgentImpl::Shutdown*", "jax.distributed.shutdown"),
    of_all("tsl::CoordinationServiceAgentImpl::WaitAtBarrier", "barrier"),
    in_store("tsl::CoordinationServiceAgentImpl::GetKeyValue*"),
    NativeCall{"c10d::ProcessGroupGloo::SendWork::wait", "send", CallKind::kSend},
    NativeCall{"c10d::ProcessGroupGloo::RecvWork::wait", "recv", CallKind::kRecv},
    of_all("c10d::ProcessGroupGloo::monitoredBarrier", "monitored_barrier"),
    // All of DDP's gradients go through all_reduce, unless a communication hook does otherwise.
    of_all("c10d::Reducer::finalize_backward", "all_reduce"),
    of_all("c10d::AsyncAllreduce*", "all_reduce"),
    of_all("c10d::AsyncSparseAllreduce*", "all_reduce"),
    of_all("c10d::AsyncAllgather*", "all_gather"),
    of_all("c10d::AsyncAlltoall*", "all_to_all"),
    of_all("c10d::AsyncBarrier*", "barrier"),
    of_all("c10d::AsyncBroadcast*", "broadcast"),
    of_all("c10d::AsyncGather*", "gather"),
    of_all("c10d::AsyncReduceScatter*", "reduce_scatter"),
    of_all("c10d::AsyncReduce*", "reduce"),
    of_all("c10d::AsyncScatter*", "scatter"),
    of_all("gloo::allreduce", "all_reduce"),
    of_all("gloo::allgather*", "all_gather"),
    of_all("gloo::alltoall*", "all_to_all"),
    of_all("gloo::barrier", "barrier"),
    of_all("gloo::broadcast", "broadcast"),
    of_all("gloo::gather*", "gather"),
    of_all("gloo::reduce", "reduce"),
    of_all("gloo::scatter", "scatter"),
    // vLLM's collectives of CPUs, in shared memory.
    of_all("shm_allreduce", "all_reduce"),
    of_all("shm_all_gather", "all_gather"),
    of_all("shm_gather", "gather"),
    // The meetings of torchft: of all replicas at the lighthouse, and of the ranks of one.
    of_all("<torchft::ManagerClient>::__pymethod__quorum__", "quorum"),
    of_all("<torchft::ManagerClient>::__pymethod_should_commit__", "should_commit"),
    of_all("ncclAllReduce", "all_reduce"),
    of_all("ncclAllGather", "all_gather"),
    of_all("ncclReduceScatter", "reduce_scatter"),
    of_all("ncclBroadcast", "broadcast"),
    of_all("ncclBcast", "broadcast"),
    of_all("ncclReduce", "reduce"),
    NativeCall{"ncclSend", "send", CallKind::kSend},
    NativeCall{"ncclRecv", "recv", CallKind::kRecv},
    of_all("ncclGroupEnd", ""),
    of_all("MPI_Allreduce*", "all_reduce"),
    of_all("MPI_Allgather*", "all_gather"),
    of_all("MPI_Alltoallv*", "all_to_allv"),
    of_all("MPI_Alltoallw*", "all_to_allv"),
    of_all("MPI_Alltoall*", "all_to_all"),
    of_all("MPI_Barrier*", "barrier"),
    of_all("MPI_Bcast*", "broadcast"),
    of_all("MPI_Gather*", "gather"),
    of_all("MPI_Scatter*", "scatter"),
    of_all("MPI_Reduce_scatter*", "reduce_scatter"),
    of_all("MPI_Reduce", "reduce"),
    of_all("MPI_Reduce_c", "reduce"),
    of_all("MPI_Scan*", "scan"),
    of_all("MPI_Exscan*", "exscan"),
    of_all("MPI_Neighbor_*", "neighbors"),
    of_all("MPI_Comm_split*", "comm_split"),
    of_all("MPI_Comm_dup*", "comm_dup"),
    of_all("MPI_Comm_create_group", "comm_create_group"),
    of_all("MPI_Comm_create_from_group", "comm_create_group"),
    of_all("MPI_Comm_create*", "comm_create"),
    of_all("MPI_Comm_free", "comm_free"),
    of_all("MPI_Intercomm_create*", "intercomm_create"),
    of_all("MPI_Intercomm_merge", "intercomm_merge"),
    of_all("MPI_Cart_create", "comm_create"),
    of_all("MPI_Win_fence", "win_fence"),
    of_all("MPI_Win_create*", "win_create"),
    of_all("MPI_Win_allocate*", "win_create"),
    of_all("MPI_Win_free", "win_free"),
    of_all("MPI_Finalize", "finalize"),
    of_request("MPI_Wait*", "wait", CallKind::kRecv),
    of_request("MPI_Test*", "test", CallKind::kRecv),
    of_request("MPI_Sendrecv*", "sendrecv", CallKind::kRecv),
    of_request("MPI_Recv*", "recv", CallKind::kRecv),
    of_request("MPI_Mrecv*", "recv", CallKind::kRecv),
    of_request("MPI_Probe*", "probe", CallKind::kRecv),
    of_request("MPI_Mprobe*", "probe", CallKind::kRecv),
    of_request("MPI_Win_lock*", "win_lock", CallKind::kRecv),
    of_request("MPI_Win_unlock*", "win_unlock", CallKind::kRecv),
    of_request("MPI_Win_flush*", "win_flush", CallKind::kRecv),
    of_request("MPI_Win_start", "win_start", CallKind::kRecv),
    of_request("MPI_Win_complete", "win_complete", CallKind::kRecv),
    of_request("MPI_Win_wait", "win_wait", CallKind::kRecv),
    of_request("MPI_Win_*", "one-sided", CallKind::kRecv),
    of_request("MPI_Send*", "send", CallKind::kSend),
    of_request("MPI_Ssend*", "send", CallKind::kSend),
    of_request("MPI_Rsend*", "send", CallKind::kSend),
    of_request("MPI_Bsend*", "send", CallKind::kSend),
    of_all("c10d::Work::wait", ""),
    of_all("c10d::ProcessGroupNCCL::WorkNCCL::*", ""),
    of_all("c10d::nccl2::WorkNCCL::*", ""),
};

// Open MPI's MPI_Finalize ends with a jump into this function, and leaves no frame of its own.
constexpr std::string_view kOpenMpiEnd = "ompi_mpi_finalize";

// Every name of the table contains one of these, mangled or not: most frames are ruled out without
// demangling them.
constexpr std::array<std::string_view, 9> kHints = {"c10d",      "gloo",    "nccl",
                                                    "bootstrap", "MPI_",    "CoordinationService",
                                                    "shm_",      "torchft", kOpenMpiEnd};

std::string_view last_part(std::string_view qualified) {
  const auto dot = qualified.rfind('.');
  return dot == std::string_view::npos ? qualified : qualified.substr(dot + 1);
}

// Removes unnamed namespaces: versions differ in which functions are in one.
std::string without_anonymous(std::string name) {
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  for (auto at = name.find(kAnonymous); at != std::string::npos; at = name.find(kAnonymous, at)) {
    name.erase(at, kAnonymous.size());
  }
  return name;
}

bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.ends_with('*')) {
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  }
  return name == pattern;
}

}  // namespace

std::span<const PythonCall> python_calls() {
  return kPythonCalls;
}

std::span<const NativeCall> native_calls() {
  return kNativeCalls;
}

const PythonCall* find_python_call(std::string_view function, std::string_view file) {
  const std::string_view name = last_part(function);
  const auto* at = std::find_if(kPythonCalls.begin(), kPythonCalls.end(), [&](const auto& call) {
    return call.function == name && file.ends_with(call.file);
  });
  return at == kPythonCalls.end() ? nullptr : &*at;
}

const NativeCall* find_native_call(std::string_view symbol) {
  const bool worth_it = std::any_of(kHints.begin(), kHints.end(), [&](std::string_view hint) {
    return symbol.find(hint) != std::string_view::npos;
  });
  if (!worth_it) {
    return nullptr;
  }
  std::string name = without_anonymous(short_name(symbol));
  if (name.starts_with("PMPI_")) {
    name.erase(0, 1);  // MPI's functions have a second name, for profilers
  } else if (name == kOpenMpiEnd) {
    name = "MPI_Finalize";
  }
  const auto* at = std::find_if(kNativeCalls.begin(), kNativeCalls.end(),
                                [&](const NativeCall& call) { return fits(call.name, name); });
  return at == kNativeCalls.end() ? nullptr : &*at;
}

}  // namespace oddrank::collectives
