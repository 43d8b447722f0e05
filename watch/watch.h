// The watch: looks at ranks every few seconds, notices that they have stopped, has all of the job
// captured once while it still stands there, and says the verdict.
//
// What it looks with is handed in: reading processes, and thinking about captures, are other rooms'
// work. Every function handed in returns within its own deadline, whatever state the ranks are in.
// The watcher itself touches neither the ranks nor the folder of captures.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "watch/leader_past.h"
#include "watch/rank_sign.h"
#include "watch/watch_start.h"

namespace oddrank::watch {

// Whatever a watcher writes into the job's log begins so.
inline constexpr std::string_view kWatcherWords = "oddrank watch: ";

struct WatchOptions {
  std::chrono::milliseconds interval{10000};
  std::chrono::milliseconds stalled_for{300000};
  std::string on_stall;  // for /bin/sh; "" = nothing
  std::chrono::milliseconds capture_patience{120000};
  std::chrono::milliseconds hook_patience{60000};
  // False: another watcher captures this job; this one only keeps its rank's past for it.
  bool captures = true;
};

struct SampleRequest {
  std::vector<RankSign> before;  // of the look before; empty at first
  bool frames = false;           // look at the frames of leaders that ran since; else only whether
  bool groups = false;           // and at the backends of their process groups
  bool launches = false;         // and at NCCL's counts of collectives
};

// The examined capture: whether it shows a stall, what it says, and where it was saved.
struct Examination {
  bool stall = false;   // something holds the job up; else it moves, or one rank is busy
  std::string kind;     // of the verdict
  std::string summary;  // the verdict in one line
  std::string text;     // the report's first screen
  std::string capture;  // where it was saved; "" = nowhere
  std::string json;     // the report; "" = it could not be written
  std::string trouble;  // with saving; "" = none
};

// A capture that was taken, to be examined and saved.
struct TakenCapture {
  std::string file;    // of the capture, in a folder of ours that ends with the watch's turn
  std::string folder;  // that folder
  std::vector<PastFile> pasts;  // of the ranks that this watcher looks at
  bool asked = false;           // by SIGUSR1: wanted even where nothing is wrong
};

struct WatchHooks {
  // One look at every rank that is there now, or was in `before`.
  std::function<std::vector<RankSign>(const SampleRequest& request)> sample;
  // Programs that write a capture to that file and end by themselves, the one of the whole job
  // first: the next one is for when it wrote nothing.
  std::function<std::vector<std::vector<std::string>>(const std::string& file)> capture_commands;
  std::function<Result<Examination>(const TakenCapture& taken)> examine;
  // The variable of the ranks' environment, "" if it is not set.
  std::function<std::string(const std::string& name)> variable;
  // Leaves the past of a rank where the watcher that captures finds it; with no words: takes it
  // away. Only called where captures is false.
  std::function<void(const PastFile& past)> leave_past;
  // No rank is there (any more): whether that is the end.
  std::function<bool()> is_over;
};

// Runs until what is watched has ended, or SIGTERM or SIGINT comes. SIGUSR1 has it capture at once.
// `beside`: the command that ends it all; null where there is none. Lines for people go to stderr.
// Precondition: one thread.
void run_watch(const WatchOptions& options, const WatchHooks& hooks, const BesideCommand* beside);

}  // namespace oddrank::watch
