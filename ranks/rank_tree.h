// Decides which processes of a node are ranks, and which belong to one. Works on plain data, so
// that every odd tree can have a test.
//
// The rule: a rank is the outermost process of a tree that carries a given rank number, is not a
// launcher, shell or agent, and does not merely wait for its one child (wrappers.h). Processes that
// it forked belong to it, even if they were orphaned. The rule in real trees:
//   srun ─ bash ─ python           all three carry SLURM_PROCID; python is the rank
//   python ─ python                the outer one waits for the inner one and has no communication
//                                  library: the inner one is the rank
//   srun ─ torchrun ─ python       torchrun carries SLURM_PROCID, the node's number; its children
//                                  carry RANK, and only they are ranks
//   python ─ python ─ torchrun     a job started from inside of a rank belongs to that rank
//   bash ─ python, tee             two outermost processes: the program is the rank, the other its
//                                  helper
//   init ─ python (earlier start)  left over from an earlier run with the same address: ignored
//   torchrun ─ zombie a rank that died; its number follows from the remaining ranks'
//   python ─ python, python        no variables, but each of the inner ones has a process group:
//                                  the inner ones are ranks, the outer one has started them
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ranks/process_facts.h"
#include "ranks/reported_world.h"
#include "snapshot/process_capture.h"

namespace oddrank::ranks {

struct DiscoverOptions {
  std::vector<pid_t> pids;  // these processes and those that they forked; empty: all ranks
  std::string slurm_job;    // only processes whose SLURM_JOB_ID is this; empty: any
  std::string slurm_step;   // the same for SLURM_STEP_ID
  // The user of that SLURM job, if known. Other users' processes that name the job are not
  // believed.
  std::optional<uid_t> slurm_user;
  uid_t reader = 0;  // our own user, who is not in the names of jobs; discover() fills it in
  std::vector<pid_t> exclude;
  // Leaves out jobs without Python and without a communication library, even if there is no other:
  // a watch of sleepers would raise an alarm.
  bool training_only = false;
  AskProcess ask = {};  // reads a process's own report; empty: none is read
  // Called with all processes of the node, once they were read; may be empty.
  std::function<void(const std::vector<ProcessFacts>&)> visit = {};
  // Reads all processes without a child process: faster, but blocks forever if one does not answer.
  bool directly = false;
};

struct RankRow {
  std::size_t process = 0;  // index into the facts
  bool is_rank = false;
  pid_t owner = 0;  // -1 if it outlives its rank and the rank's pid is unknown
  bool outlives_rank = false;
  snapshot::JobRole role = snapshot::JobRole::kUnknown;
  std::int32_t rank = -1;
  std::int32_t local_rank = -1;
  std::int32_t world_size = -1;
  std::string job;
  std::string replica;  // its replica of the job; `rank` is the number within (replicas.h); mostly
                        // empty
  std::string why;      // anything odd about it, as a sentence; mostly empty
};

struct RankDecision {
  std::vector<RankRow> rows;           // each rank followed by what belongs to it
  std::vector<std::string> notes;      // for the reader of a report
  std::vector<std::int32_t> expected;  // ranks of this node, if the launcher lists them and there
                                       // is one job
  std::string obstacle;  // why a rank may be missing among the rows; "" if all were examined
};

// Returns the indices of processes whose activity must be read (read_conducts) before the decision;
// call it again until it returns none. A process whose activity was not read does not count as a
// wrapper.
std::vector<std::size_t> conducts_to_read(const std::vector<ProcessFacts>& facts,
                                          const DiscoverOptions& options);

// Returns the indices of processes to ask next (self_reports.h); call it again until it returns
// none.
std::vector<std::size_t> processes_to_ask(const std::vector<ProcessFacts>& facts,
                                          const DiscoverOptions& options);

// Returns the decision. Precondition: the two functions above return none.
RankDecision decide_ranks(const std::vector<ProcessFacts>& facts, const DiscoverOptions& options);

}  // namespace oddrank::ranks
