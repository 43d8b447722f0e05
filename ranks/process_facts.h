// Discovery's facts about each process of a node: /proc/PID/stat of all, command line and known
// variables of those that we may read.
//
// Command line and environment take the target's mmap lock, which a target in state D may hold
// forever. They are read in a child with a deadline: a process that does not answer costs a second,
// is marked, and the others are still read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attach/proc_environ.h"
#include "attach/proc_stat.h"
#include "base/result.h"
#include "ranks/process_activity.h"
#include "ranks/reported_world.h"

namespace oddrank::ranks {

enum class FactsRead : std::uint8_t {
  kNone = 0,  // a zombie, or it has exited meanwhile
  kRead,
  kRefused,  // another user's, or not dumpable
  kBlocked,  // did not answer in time, or came after too many such processes
};

struct ProcessFacts {
  attach::ProcStat stat;
  FactsRead read = FactsRead::kNone;
  uid_t user = 0;  // its real user; of a zombie the effective one
  // "" if it may not be read. This and `network` are read only for ranks (by their variables), and
  // for the families of given processes.
  std::string executable;
  std::uint64_t network = 0;  // the inode of its network namespace; 0 = unknown
  std::vector<std::string> arguments;
  attach::Environment environment;
  // The SLURM job in `environment` comes from the kernel or slurmstepd, not from the process.
  bool step_proven = false;
  // Has a communication library mapped. Read only if its variables do not identify it, or show only
  // that a batch script runs it.
  bool loaded = false;
  bool activity_read = false;  // only if a choice depends on it
  ProcessActivity activity;
  // Its own report (self_reports.h). If it was read, `environment` has its present variables, too.
  bool asked = false;
  ReportedWorld reported;
  std::string ray_session;  // SelfReport::ray_session
};

// Returns all processes of our pid namespace except kernel threads. `given`: the processes that the
// user gave; if there are any, only their families are searched for libraries. `directly`: reads
// them without a child, which may block. Precondition: the caller has one thread (it forks).
Result<std::vector<ProcessFacts>> read_process_facts(const std::vector<pid_t>& given,
                                                     bool directly = false);

// The reads that may block, for one process.
struct DetailReader {
  std::function<void(ProcessFacts&)> details;  // all but `stat` and `loaded`
  // Returns ProcessFacts::loaded. A process may have tens of thousands of mappings.
  std::function<bool(const ProcessFacts&)> loaded;
};

// Calls the reader for each process in a child and takes over its results. A process whose details
// do not arrive within about a second is kBlocked; if only its libraries do not arrive, it keeps
// its details. (A function of its own, so that tests can pass a reader that never returns.)
void read_details_of(std::vector<ProcessFacts>& all, const DetailReader& read);

// Reads the activity of these processes, `which` are indices, and marks it as read. A process that
// does not answer within about a second keeps kUnknown. Precondition: as above.
void read_conducts(const std::vector<std::size_t>& which, std::vector<ProcessFacts>& all);

}  // namespace oddrank::ranks
