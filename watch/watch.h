// The watch: samples ranks every few seconds, notices that they have stopped, has the whole job
// captured while it still exists, and prints the verdict.
//
// Its tools are functions (WatchHooks): other rooms read processes and diagnose captures. Each of
// these functions returns within its own deadline, whatever state the ranks are in. The watcher
// itself touches neither the ranks nor the folder of captures.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "watch/metrics.h"
#include "watch/rank_motion.h"
#include "watch/rank_sign.h"
#include "watch/watch_start.h"

namespace oddrank::watch {

// The beginning of all lines of a watcher in the job's log.
inline constexpr std::string_view kWatcherWords = "oddrank watch: ";

struct WatchOptions {
  std::chrono::milliseconds interval{10000};
  std::chrono::milliseconds stalled_for{300000};
  std::string on_stall;  // for /bin/sh; "" = nothing
  std::chrono::milliseconds capture_patience{120000};
  std::chrono::milliseconds hook_patience{60000};
  // False: another watcher captures this job; this one only keeps its rank's past for that watcher.
  bool captures = true;
};

struct SampleRequest {
  std::vector<RankSign> before;  // of the previous sample; empty at first
  bool frames = false;           // read the frames of deciding threads that ran since; else only
                                 // run counts
  bool groups = false;           // read the backends of their process groups too
  bool launches = false;         // read NCCL's and PyTorch's counts of calls too
};

// The examined capture: whether it shows a stall, its verdict, and where it was saved.
struct Examination {
  bool stall = false;   // false: the job moves, or one rank is busy
  std::string kind;     // of the verdict
  std::string summary;  // the verdict in one line
  std::string text;     // the report's first screen
  std::string capture;  // path of the saved capture; "" = not saved
  std::string json;     // the report; "" = it could not be written
  std::string trouble;  // with saving; "" = none
};

// A capture to be examined and saved.
struct TakenCapture {
  std::string file;             // of the capture, in a temporary folder of ours
  std::string folder;           // that folder
  std::vector<PastFile> pasts;  // of the ranks that this watcher samples
  bool asked = false;           // by SIGUSR1: wanted even if nothing is wrong
};

struct WatchHooks {
  // Samples every rank that exists now or was in `before`.
  std::function<std::vector<RankSign>(const SampleRequest& request)> sample;
  // Returns programs that write a capture to that file and exit by themselves; first the one for
  // the whole job. Each further one runs only if those before wrote nothing.
  std::function<std::vector<std::vector<std::string>>(const std::string& file)> capture_commands;
  std::function<Result<Examination>(const TakenCapture& taken)> examine;
  // Returns a variable of the ranks' environment, "" if it is not set.
  std::function<std::string(const std::string& name)> variable;
  // Stores the past of a rank for the capturing watcher, or removes it if it has no words. Only
  // called if `captures` is false.
  std::function<void(const PastFile& past)> leave_past;
  // Publishes the metrics after each sample; null at the end of the watch. May be empty.
  std::function<void(const WatchMetrics* metrics)> publish;
  // Called while no rank exists. Returns true if the watch should end.
  std::function<bool()> is_over;
};

// Runs until the watched processes have exited, or until SIGTERM or SIGINT. SIGUSR1 makes it
// capture at once. `beside`: the command; the watch ends when it exits. Null if there is none.
// Messages go to stderr. Precondition: one thread.
void run_watch(const WatchOptions& options, const WatchHooks& hooks, const BesideCommand* beside);

}  // namespace oddrank::watch
