// Work that goes on: a loop that came nearer to its end between the samples
// (cpython/bytecode/loop_items.h); a loop that writes to a file, in a process that has written
// something; a connection through which data goes out, or comes in without a recent request; or one
// child process after another. A sleep that ends soon is work, too.
//
// A thread that polls or only sleeps moves, too. Items of a loop that ends by itself are the only
// proof in Python code that a rank has work, and how much.
//
// Whether a rank has left a loop that another rank is still in.
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
  std::int64_t between_ms = 0;  // time for these `done`; 0: unknown
  std::int64_t written = 0;     // bytes between the samples; then items are unknown
  std::string_view flow = {};   // "come in" or "gone out"; then all else is unknown
  std::size_t children = 0;     // that have ended; then all else is unknown
  std::int64_t sleeps_ms = 0;   // it goes on by itself within this time; then all else is unknown
};

// Returns whether the process has written something between the samples, and the thread has run:
// what others write while it stands is not its work.
bool writes(const snapshot::ProcessCapture& process, const snapshot::ThreadCapture& thread);

// Returns the innermost loop with work left. nullopt: there is none, or each turn asks for
// something that another process may give, or the rest takes too long. `process`: the thread's.
std::optional<LoopWork> loop_work(const JobView& view,
                                  const snapshot::ProcessCapture& process,
                                  const snapshot::ThreadCapture& thread);

// Returns the same for a rank that waits for a child process, if it has reaped others between the
// samples.
std::optional<LoopWork> work_of_children(const JobView& view, const RankView& rank);

// Returns the same for a rank that sleeps once, for a minute at most, as one that keeps to a rate
// does.
std::optional<LoopWork> work_after_sleep(const JobView& view, const RankView& rank);

// Returns "its loop has done 13 items in 2 s, with 1163 left (about 3 min)".
std::string work_words(const LoopWork& work);

struct LeftLoop {
  std::string place;      // of the loop's current line on the rank that is inside: "train.py:61"
  bool for_good = false;  // the rank is in no outer loop that could lead into that one again
};

// Returns the loop if both ranks are in the same function of the program, `inside` in a loop of it,
// and `rank` behind that loop. nullopt: it has not left it, or that is unknown (only loops of the
// innermost frames are read).
std::optional<LeftLoop> left_loop(const JobView& view,
                                  const RankView& rank,
                                  const RankView& inside);

}  // namespace oddrank::aggregate
