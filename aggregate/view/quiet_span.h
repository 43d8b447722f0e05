// How long threads have not run, in words.
#pragma once

#include <cstdint>
#include <string>

#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

// The span of one thread or of several.
class QuietSpan {
 public:
  void add(const snapshot::ThreadCapture& thread);
  // Adds a thread about which nothing is known.
  void add_unknown() { unknown_ = true; }

  // Returns whether the span is known for every thread, and each has been quiet for at least a
  // second. A thread that woke just now, perhaps only to check a clock, shows nothing about its
  // wait.
  bool tells() const;
  std::int64_t least_ms() const { return least_ms_; }
  std::int64_t most_ms() const { return most_ms_; }

  // Returns "for 41 min" or "for 40 min to 41 min"; "" unless tells().
  std::string words() const;

 private:
  std::int64_t least_ms_ = -1;
  std::int64_t most_ms_ = -1;
  bool unknown_ = false;
};

}  // namespace oddrank::aggregate
