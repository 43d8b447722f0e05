// Reads the flight recorders of the ranks of this node from their memory: nothing has to be
// enabled, no thread is stopped, and no answer is needed.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/isolated.h"
#include "snapshot/capture.h"

namespace oddrank::node {

// Searches the libraries of one rank for recorders, in a child; the other ranks usually map the
// same files. Precondition: one thread (it forks).
class RecorderSearch {
 public:
  RecorderSearch(const snapshot::Capture& capture, std::chrono::milliseconds timeout);
  // Waits for what was found (recorder_variables.h); "" for a single rank until set_found().
  const std::string& found();

  // Returns whether there is a single rank, whose own reader searches its libraries. Code that goes
  // through their symbols before can save it that: it searches as well, and calls set_found().
  bool is_left_to_others() const { return left_; }
  void set_found(std::string found) { found_ = std::move(found); }

 private:
  std::optional<PendingTask> search_;
  bool left_ = false;
  std::string found_;
};

// Returns for each process of the capture how long ago it made a call or noticed the end of one, by
// its recorder; negative if unknown. Precondition: one thread (it forks).
std::vector<std::chrono::milliseconds> ages_of_newest_events(const snapshot::Capture& capture,
                                                             RecorderSearch& search,
                                                             std::chrono::milliseconds timeout);

// Adds a record (FlightRecord::from_memory) for each rank whose recorder holds calls. A rank
// without one is normal; failures become one note. Each rank has a child with a deadline. `newest`:
// how many calls of each group are kept; 0: all. Call it after the samples, so that a call that a
// record shows as open was open during them. Precondition: one thread (it forks).
void collect_recorders(snapshot::Capture& capture,
                       RecorderSearch& search,
                       std::size_t newest,
                       std::chrono::milliseconds timeout);

}  // namespace oddrank::node
