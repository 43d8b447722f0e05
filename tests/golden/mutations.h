// The same job, seen or numbered otherwise: what must change nothing but names, or nothing at all.
// And the job without a fact that its verdict may rest on, or with one that it did not have.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::tests {

snapshot::Capture copy_of(const snapshot::Capture& from);

// Nodes and processes in another order, as they may come back from the nodes.
snapshot::Capture shuffled(const snapshot::Capture& from, unsigned seed);

// Rank r is numbers[r], wherever a rank is named.
snapshot::Capture renumbered(const snapshot::Capture& from,
                             const std::vector<std::int32_t>& numbers);

// Each node's part by itself, as an agent sends it.
std::vector<snapshot::Capture> parts_of(const snapshot::Capture& whole);

// Python functions and files outside of the libraries have other names.
snapshot::Capture renamed_user_code(const snapshot::Capture& from);

// All that is known of the process is that it is there.
void unread(snapshot::ProcessCapture& process);

// As if it had been sampled once.
snapshot::Capture once(const snapshot::Capture& from);

// Something that was read of a process, and how a capture looks in which it was not.
struct Fact {
  std::string_view name;  // "who holds what it waits for"
  void (*forget)(snapshot::ProcessCapture& process);
};

// One for each thing that rules look at.
std::vector<Fact> facts();

// The process of a rank; null if it has none.
snapshot::ProcessCapture* process_of(snapshot::Capture& capture, std::int32_t rank);

// The rank stands where another one stands, in every thread, and has no children. Its connections
// stay its own.
void stand_as(snapshot::Capture& capture, std::int32_t rank, std::int32_t other);

}  // namespace oddrank::tests
