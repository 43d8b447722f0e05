// The facts of flight recorders in sentences.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aggregate/flight/flight_facts.h"

namespace oddrank::aggregate {

// Returns the ranks that have not made calls in which others wait, and are in no open call
// themselves: ascending.
std::vector<std::int32_t> ranks_not_come(const FlightFacts& facts);

// Returns "rank 3 has not called all_reduce #4 in default group, in which ranks 0-2 wait; its last
// call in this group was barrier #3, at train (train.py:9)". Each of the ranks is absent from a
// wait.
std::string not_come_words(const FlightFacts& facts, const std::vector<std::int32_t>& ranks);

// Returns "ranks 0-2 wait in all_reduce #4 in default group, and nothing shows that rank 3 has
// called it": what is known of one call.
std::string wait_words(const FlightFacts& facts, const FlightWait& wait);

// Returns "call #4 in default group is not the same on all ranks (operation): rank 3 in barrier;
// ranks 0-2 in all_reduce of [4] Float".
std::string mismatch_words(const FlightJob& job, const FlightMismatch& mismatch);

// Returns "rank 3 in default group; rank 1 in group tp (1) {0-1}": the ranks that have made fewer
// calls than others. "": all have made as many.
std::string behind_words(const FlightJob& job);

// Returns one sentence on what the recorders show: the most direct facts.
std::string flight_words(const FlightFacts& facts);

}  // namespace oddrank::aggregate
