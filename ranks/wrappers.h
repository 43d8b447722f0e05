// Finds processes that only wrap a rank: they have its variables, started it and wait for it to
// exit, whatever program they are. Private to ranks/.
//
// A wrapper has no communication library, all its threads sleep, and it has one child with its
// rank's number; that child, or the child's child, is the rank. If a thread waits for the child's
// exit (wait4, a pidfd), that is enough; if the process just sleeps, the child must have a
// communication library. A rank that has not yet imported its library and waits for a program that
// it runs looks the same, so a Python program counts as a wrapper only of Python programs and of
// programs with the library.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "ranks/process_tree.h"

namespace oddrank::ranks {

// `may_be_rank`: which nodes of the tree are considered; `may_wrap`: which of these may be
// wrappers.
struct WrapperQuestion {
  const ProcessTree& tree;
  std::function<bool(std::size_t)> may_be_rank;
  std::function<bool(std::size_t)> may_wrap;
};

// Returns [index] -> the process that it wraps, or kNoProcess if it is not a wrapper. A process
// whose activity was not read does not count as a wrapper.
std::vector<std::size_t> find_wrapped(const WrapperQuestion& question);

// Returns the processes whose activity must be read next for find_wrapped; empty once all that
// matters has been read.
std::vector<std::size_t> conducts_to_read(const WrapperQuestion& question);

}  // namespace oddrank::ranks
