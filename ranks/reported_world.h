// A process's place in the job by objects in its memory, not by the variables with which it was
// started. Plain data; collectives/world_in_memory.h and mpi_world.h read it.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>

#include "attach/proc_environ.h"

namespace oddrank::ranks {

// The source, the most trusted last.
enum class ReportedBy : std::uint8_t {
  kNothing = 0,
  kStart,  // an argument of its current call: torch.multiprocessing's index of a child
  kMpi,    // MPI_COMM_WORLD
  kInit,   // arguments of init_process_group, which it is in
  kJax,    // jax.distributed has been initialised
  kGroup,  // torch's default process group
};

struct ReportedWorld {
  ReportedBy by = ReportedBy::kNothing;
  std::int32_t rank = -1;  // unknown if kStart
  std::int32_t world_size = -1;
  // Its index among the children of torch.multiprocessing; -1: it is not one.
  std::int32_t index = -1;
  std::string address;  // where the ranks meet: "n0:29500", "file:///tmp/x"; "" = unknown
  // The group belongs to the process that forked this one: no thread of its backend is here.
  bool inherited = false;

  // Returns whether rank and world size are known, and are the process's own.
  bool has_rank() const { return rank >= 0 && world_size > rank && !inherited; }
};

// The answer of one process.
struct SelfReport {
  ReportedWorld world;
  attach::Environment environment;  // at present; empty if it could not be read
  bool communicates = false;        // has a communication library mapped
  std::string ray_session;          // of Ray, by a log of it that a driver has open; "" = none
};

// Reads one process's report. Runs in a child with a deadline, since it may block.
using AskProcess = std::function<SelfReport(pid_t)>;

}  // namespace oddrank::ranks
