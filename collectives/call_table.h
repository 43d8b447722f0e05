// A table of the calls of communication libraries that appear in stacks: one row for each function.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "snapshot/collective_call.h"

namespace oddrank::collectives {

inline constexpr std::string_view kRpcFile = "torch/distributed/rpc/api.py";

// The local variable of a call's Python frame that holds the other side, as a global rank.
enum class PeerLocal : std::uint8_t { kNone = 0, kSrcIsRoot, kDstIsRoot, kSrcIsPeer, kDstIsPeer };

// A Python function. `parameters` are its first parameters up to and including `group`, in order;
// they show whether a caller gave a group (group_evidence.h). Empty: it has no group parameter.
struct PythonCall {
  std::string_view function;  // last part of the qualified name
  std::string_view file;      // end of the path
  snapshot::CallKind kind = snapshot::CallKind::kCollective;
  std::string_view parameters;
  PeerLocal peer = PeerLocal::kNone;
  // It calls other collectives of the table with its own group.
  bool passes_group_on = false;
};

// A native function. `op` is empty if the function does not determine the operation.
struct NativeCall {
  // As snapshot::short_name returns it, without unnamed namespaces; a trailing '*' stands for any
  // rest.
  std::string_view name;
  std::string_view op;
  snapshot::CallKind kind = snapshot::CallKind::kCollective;
  // Reads or writes a store: a rendezvous while a group is being made, else a call of the program
  // itself.
  bool of_store = false;
  // A function of MPI: the request that the thread waits for says more (mpi/mpi_calls.h).
  bool of_request = false;
};

// Return all rows.
std::span<const PythonCall> python_calls();
std::span<const NativeCall> native_calls();

// Finds the row of a function; nullptr without one. `function`: qualified name or name.
const PythonCall* find_python_call(std::string_view function, std::string_view file);
// Finds the first matching row. `symbol`: mangled, as in the file, or readable.
const NativeCall* find_native_call(std::string_view symbol);

}  // namespace oddrank::collectives
