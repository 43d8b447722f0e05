// For how long threads have not run, in words.
#pragma once

#include <cstdint>
#include <string>

#include "snapshot/thread_capture.h"

namespace oddrank::aggregate {

// Of one thread or several.
class QuietSpan {
 public:
  void add(const snapshot::ThreadCapture& thread);
  // One of which nothing is known.
  void add_unknown() { unknown_ = true; }

  // Of every thread it is known, and each has been quiet for a second or longer. Otherwise they
  // woke just now, if only to look at a clock, and that says nothing about their wait.
  bool tells() const;
  std::int64_t least_ms() const { return least_ms_; }
  std::int64_t most_ms() const { return most_ms_; }

  // "for 41 min", "for 40 min to 41 min"; "" unless tells().
  std::string words() const;

 private:
  std::int64_t least_ms_ = -1;
  std::int64_t most_ms_ = -1;
  bool unknown_ = false;
};

}  // namespace oddrank::aggregate
