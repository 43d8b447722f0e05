// Which processes are asked what they say of themselves (reported_world.h), and the asking.
//
// Asked are processes with a communication library whose variables do not identify them: started by
// multiprocessing, by Ray, by hand, or with a title written over their variables. And, where
// several processes carry the number of one task of SLURM or MPI, these from the outermost inwards
// until one says its rank: the task may have started several ranks. And processes with the same
// number, of which none started the other: an outer launcher's variables may hide their own
// (`RANK=0` in the shell that runs mpirun). Workers of a process that has said its rank are not
// asked. Private to ranks/.
#pragma once

#include <cstddef>
#include <vector>

#include "ranks/process_tree.h"
#include "ranks/rank_tree.h"

namespace oddrank::ranks {

// Returns the next processes to ask; empty once all that matter have been asked.
std::vector<std::size_t> processes_to_ask(const ProcessTree& tree, const DiscoverOptions& options);

// Asks these processes, `which` are indices: each in a child of its own. Marks them as asked. One
// that does not answer within seconds says nothing. Precondition: one thread (it forks).
void ask_processes(const std::vector<std::size_t>& which,
                   const AskProcess& ask,
                   std::vector<ProcessFacts>& all);

}  // namespace oddrank::ranks
