// Reads the communicators of a process from NCCL's own memory, if NCCL's RAS service does not
// report the rank: it is stopped, its RAS thread is stuck, or the service is unreachable.
//
// NCCL keeps a list of its communicators for RAS (`ncclComms`, from 2.24 on). It is a local symbol
// in .symtab, which NVIDIA's libraries have; a library without .symtab cannot be read. The reader
// uses the same fields as RAS itself, so the counts mean the same: launches by the host, of five
// operations. With NCCL_RAS_ENABLE=0 the list stays empty.
//
// A communicator counts only with NCCL's magic number at both ends. The process may be running:
// each number is one word, and a freed communicator loses its magic numbers. Source: NCCL,
// src/ras/ras.cc (ncclRasCommInit) and src/ras/collectives.cc (rasCollCommsInit), tags v2.26.2-1 to
// v2.30.7-1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "collectives/nccl/ras_answer.h"

namespace oddrank::collectives {

// Variables of the library. 0: not known.
struct NcclVariables {
  std::string version;     // "2.28.9"
  attach::Addr list{};     // of `ncclComms`, a pointer to an array of pointers, some of them null
  attach::Addr entries{};  // of `nNcclComms`, its length
  // The address of `ncclLastProxyState`, a pointer: the newest communicator's proxy, also without
  // RAS.
  attach::Addr last_proxy{};
  attach::Addr ib_devices{};      // of `ncclIbMergedDevs`, an array
  attach::Addr socket_devices{};  // of `ncclNetSocketDevs`, an array
  attach::Addr root{};            // of the function `bootstrapRoot`
  std::uint64_t root_size = 0;    // its bytes
};

// Returns the addresses of all communicators in the list: one may have been freed meanwhile.
// kBadData: the list cannot be read.
Result<std::vector<attach::Addr>> list_nccl_communicators(const attach::Target& target,
                                                          const NcclVariables& variables);

// Returns a group for each communicator that is complete, with this process as its only member
// (RasPresence::kMemory). Its hash has the form that the service of that version uses.
// kUnsupported: the layout of that version is unknown; kBadData: no communicator of the list
// matches that layout. `what` is one line without the process.
Result<RasAnswer> read_nccl_list(const attach::Target& target, const NcclVariables& list);

}  // namespace oddrank::collectives
