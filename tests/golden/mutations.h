// The same job, read or numbered differently: changes that must affect names only, or nothing. Also
// the job without a fact that its verdict may depend on, or with a new one.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "snapshot/capture.h"

namespace oddrank::tests {

snapshot::Capture copy_of(const snapshot::Capture& from);

// Reorders nodes and processes, as they may arrive from the nodes.
snapshot::Capture shuffled(const snapshot::Capture& from, unsigned seed);

// Renames rank r to numbers[r] everywhere.
snapshot::Capture renumbered(const snapshot::Capture& from,
                             const std::vector<std::int32_t>& numbers);

// Returns each node's part by itself, as an agent sends it.
std::vector<snapshot::Capture> parts_of(const snapshot::Capture& whole);

// Renames Python functions and files outside the libraries, and what loops call, if no more is
// known of it than a name that is not of the language.
snapshot::Capture renamed_user_code(const snapshot::Capture& from);

// Removes everything known about the process except that it exists.
void unread(snapshot::ProcessCapture& process);

// Keeps one sample only.
snapshot::Capture once(const snapshot::Capture& from);

// Makes every thread stand still where its last sample found it, for a minute.
void stand_still(snapshot::Capture& capture);

// Puts the rank into code of its own, asleep, outside of all calls.
void make_late(snapshot::Capture& capture, std::int32_t rank);

// A fact that was read from a process, and the change that removes it from a capture.
struct Fact {
  std::string_view name;  // "who holds what it waits for"
  void (*forget)(snapshot::ProcessCapture& process);
};

// Returns one entry for each fact that rules use.
std::vector<Fact> facts();

// Returns the process of a rank; null if it has none.
snapshot::ProcessCapture* process_of(snapshot::Capture& capture, std::int32_t rank);

// Moves the rank to another one's place, in every thread, and removes its children. It keeps its
// own connections.
void stand_as(snapshot::Capture& capture, std::int32_t rank, std::int32_t other);

}  // namespace oddrank::tests
