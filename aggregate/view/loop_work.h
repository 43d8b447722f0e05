// Work that goes on: a loop that came nearer to its end between the samples
// (cpython/bytecode/loop_items.h); or a loop that puts data into a file, in a process that has
// written some; or a connection through which data comes that was not asked for just now, or goes.
//
// A thread that asks for something again and again moves, too, and so does one that only sleeps.
// Items of a loop that ends by itself are the one proof in Python code that a rank has work, and
// how much.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct LoopWork {
  std::string function;
  std::string place;  // "train.py:81"
  std::int64_t done = 0;
  std::int64_t left = 0;
  std::int64_t between_ms = 0;  // in which `done` were done; 0: not known
  std::int64_t written = 0;     // bytes between the samples; then nothing is known of items
  std::string_view flow;        // "come in" or "gone out"; then nothing is known but that
};

// Returns whether the process has written something between the samples, and the thread has run:
// what others write while it stands is not its work.
bool writes(const snapshot::ProcessCapture& process, const snapshot::ThreadCapture& thread);

// `process` has the thread. Returns the innermost loop with work left. nullopt: there is no such
// loop, or at each turn it asks for something that another process may give, or the rest takes
// longer than anybody waits.
std::optional<LoopWork> loop_work(const JobView& view,
                                  const snapshot::ProcessCapture& process,
                                  const snapshot::ThreadCapture& thread);

// Returns "its loop has done 13 items in 2 s, with 1163 left (about 3 min)".
std::string work_words(const LoopWork& work);

}  // namespace oddrank::aggregate
