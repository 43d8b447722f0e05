// Processes' own reports: their place in the job, from their memory (reported_world.h). To "ask" a
// process means to read that.
//
// It asks processes with a communication library whose variables do not identify them (started by
// multiprocessing, by Ray, by hand, or with a title written over their variables). If several
// processes have the number of one task of SLURM or MPI, it asks them from the outermost inwards
// until one reports a rank: the task may have started several ranks. It asks unrelated processes
// with the same number: an outer launcher's variables may hide their own (`RANK=0` in the shell
// that runs mpirun). It does not ask workers of a process that has reported a rank. Private to
// ranks/.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/process_tree.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {

// Returns the next processes to ask; empty once all that matter have been asked.
std::vector<std::size_t> processes_to_ask(const ProcessTree& tree, const DiscoverOptions& options);

// Asks these processes (`which`: indices), each in a child of its own, and marks them as asked. A
// read that takes longer than some seconds yields no report. Precondition: one thread (it forks).
void ask_processes(const std::vector<std::size_t>& which,
                   const AskProcess& ask,
                   std::vector<ProcessFacts>& all);

}  // namespace oddrank::ranks
