#include "watch/watch.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <map>
#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/files/temp_folder.h"
#include "base/log.h"
#include "base/printable.h"
#include "base/programs/child_command.h"
#include "base/span_words.h"
#include "watch/alarm.h"
#include "watch/rank_motion.h"
#include "watch/stall_hook.h"
#include "watch/watch_capture.h"
#include "watch/watchdog_limit.h"

namespace oddrank::watch {
namespace {

using std::chrono::milliseconds;
using Wall = std::chrono::system_clock;

// Frames need not be read as often as run counts: eight times within the stall limit is enough.
constexpr int kFrameSamples = 8;
constexpr milliseconds kMaxFrameInterval{60000};
// After this much quiet time, the process groups are read to learn the watchdog's limit.
constexpr milliseconds kMaxQuietWithoutGroups{120000};
// Without a pidfd nothing wakes us when the command exits.
constexpr milliseconds kMaxEndWait{1000};
constexpr milliseconds kCapturePoll{20};

struct Watched {
  explicit Watched(const RankSign& sign)
      : last(sign), motion(RankMotion::Clock::now()), past(Wall::now()) {}

  RankSign last;
  RankMotion motion;
  LastPlaces past;
  bool past_left = false;  // for another watcher
  std::string trouble_said;
};

std::string name_of(const RankSign& sign) {
  return sign.rank >= 0 ? "rank " + std::to_string(sign.rank) : "pid " + std::to_string(sign.pid);
}

// Why a capture is taken.
struct Reason {
  pid_t pid = 0;  // of the rank that does not move; 0: SIGUSR1
  std::string who;
  milliseconds quiet{0};  // as samples have seen it
  milliseconds still{0};  // as the kernel knows it: longer, if the watch came later

  bool asked() const { return pid == 0; }
};

class Watch {
 public:
  Watch(const WatchOptions& options, const WatchHooks& hooks, const BesideCommand* beside);

  void run();

 private:
  bool is_over() const { return asked_to_end_ || (beside_ != nullptr && has_ended(*beside_)); }
  bool wait(const Deadline& until, const ChildCommand* capture);
  void take_signals();
  void advance_hook();
  bool sample();
  void note(const RankSign& sign);
  void leave_past(Watched& watched, bool moved);
  void forget(pid_t pid);
  const Watched* most_quiet() const;
  milliseconds seen_quiet(const Watched& watched) const;
  void check();
  void capture(const Reason& reason);
  std::vector<PastFile> pasts() const;
  bool has_moved(const Reason& reason);
  void excuse(const Reason& reason, const std::string& why);
  Result<Examination> take(const Reason& reason, const TempFolder& folder);
  static void report(const Examination& examination, const Reason& reason);
  void start_hook(const Examination& examination, TempFolder folder);
  void publish();
  void end();

  const WatchOptions& options_;
  const WatchHooks& hooks_;
  const BesideCommand* beside_;
  Alarm alarm_;
  milliseconds frames_every_{0};
  std::map<pid_t, Watched> watched_;
  RankMotion::Time sampled_;  // when the latest sample began
  std::optional<RankMotion::Time> last_frames_;
  bool groups_known_ = false;
  bool groups_asked_ = false;  // already queried in this quiet time
  bool stall_said_ = false;    // already reported, and no motion since
  WatchMetrics metrics_;       // but its ranks
  bool asked_ = false;         // by SIGUSR1
  bool asked_to_end_ = false;
  UniqueFd signals_;
  std::optional<StallHook> hook_;
  std::optional<TempFolder> hook_folder_;
};

Watch::Watch(const WatchOptions& options, const WatchHooks& hooks, const BesideCommand* beside)
    : options_(options), hooks_(hooks), beside_(beside), alarm_(options.stalled_for) {
  const milliseconds eighth = options.stalled_for / kFrameSamples;
  frames_every_ = std::max(options.interval, std::min(eighth, kMaxFrameInterval));
}

// Writes all lines with one write(2), so that no other process's lines come in between.
void say(const std::string& text) {
  const std::string line = std::string(kWatcherWords) + printable_text(text) + "\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line.data(), line.size());
}

// Returns false if the watch is to end. Returns early if a capture is requested or the running
// capture has written something.
bool Watch::wait(const Deadline& until, const ChildCommand* capture) {
  while (!asked_ || capture != nullptr) {
    std::vector<pollfd> polled = {{signals_.get(), POLLIN, 0}};
    Deadline next = until;
    if (beside_ != nullptr && beside_->end.valid()) {
      polled.push_back({beside_->end.get(), POLLIN, 0});
    } else if (beside_ != nullptr) {
      next = next.at_most(kMaxEndWait);
    }
    if (hook_) {
      hook_->add_pollfds(polled);
      next = next.at_most(std::min(hook_->deadline().left(), milliseconds(200)));
    }
    if (capture != nullptr) {
      capture->add_pollfds(polled);
    }
    ::poll(polled.data(), polled.size(), next.poll_timeout());
    take_signals();
    advance_hook();
    if (is_over()) {
      return false;
    }
    if (capture != nullptr || until.passed()) {
      break;
    }
  }
  return true;
}

void Watch::take_signals() {
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == sizeof signal) {
    if (signal.ssi_signo == SIGUSR1) {
      asked_ = true;
      last_frames_.reset();  // the sample before the capture must read the ranks' current places
    } else {
      asked_to_end_ = true;
    }
  }
}

void Watch::advance_hook() {
  if (!hook_ || hook_->advance()) {
    return;
  }
  if (const std::string complaint = hook_->complaint(); !complaint.empty()) {
    say("the --on-stall command failed: " + complaint);
  }
  if (const std::vector<std::string> lines = hook_->said(); !lines.empty()) {
    // Each line begins with our words, so that it is not taken for the job's (node/log_growth.h).
    std::string text = "the --on-stall command wrote:";
    for (const std::string& line : lines) {
      text += "\n" + std::string(kWatcherWords) + "  " + line;
    }
    say(text);
  }
  hook_.reset();
  hook_folder_.reset();
}

void Watch::leave_past(Watched& watched, bool moved) {
  PastFile past{watched.last.rank, watched.last.pid, {}};
  if (moved && watched.past_left) {
    hooks_.leave_past(past);
    watched.past_left = false;
  } else if (!moved && !watched.past_left &&
             watched.motion.quiet_for(RankMotion::Clock::now()) >= alarm_.limit() / 2) {
    past.words = watched.past.words(Wall::now());
    hooks_.leave_past(past);
    watched.past_left = true;
  }
}

// Removes the rank's past too, whether a sample or wait() first noticed its exit.
void Watch::forget(pid_t pid) {
  const auto gone = watched_.find(pid);
  if (gone != watched_.end()) {
    leave_past(gone->second, true);
    watched_.erase(gone);
  }
}

void Watch::note(const RankSign& sign) {
  const auto [at, is_new] = watched_.try_emplace(sign.pid, sign);
  Watched& watched = at->second;
  const bool moved = watched.motion.add(sign, RankMotion::Clock::now());
  watched.past.add(sign, moved && !is_new, Wall::now());
  alarm_.learn(watched.motion.longest_quiet());
  watched.last = sign;
  if (!sign.backends.empty()) {
    alarm_.set_watchdog(
        watchdog_limit(sign.backends, std::chrono::seconds(sign.group_timeout_s), hooks_.variable));
    groups_known_ = true;
  } else if (moved) {
    groups_asked_ = false;
  }
  if (!sign.trouble.empty() && sign.trouble != watched.trouble_said) {
    say(name_of(sign) + ": " + sign.trouble);
    watched.trouble_said = sign.trouble;
  }
  if (!options_.captures && hooks_.leave_past) {
    leave_past(watched, moved);
  }
}

// Returns false if there is no rank.
bool Watch::sample() {
  const auto now = RankMotion::Clock::now();
  const Watched* quiet = most_quiet();
  SampleRequest request;
  request.frames = !last_frames_ || now - *last_frames_ >= frames_every_;
  const milliseconds so_long = quiet == nullptr ? milliseconds(0) : quiet->motion.quiet_for(now);
  request.groups = !groups_known_ && !groups_asked_ && quiet != nullptr &&
                   so_long >= std::min(alarm_.limit() / 2, kMaxQuietWithoutGroups);
  request.launches = request.frames && so_long >= alarm_.limit() / 2;
  for (const auto& [pid, watched] : watched_) {
    request.before.push_back(watched.last);
  }
  const std::vector<RankSign> signs = hooks_.sample(request);
  sampled_ = now;
  if (request.frames) {
    last_frames_ = now;
  }
  groups_asked_ = groups_asked_ || request.groups;
  for (const RankSign& sign : signs) {
    if (sign.gone) {
      forget(sign.pid);
    } else {
      note(sign);
    }
  }
  return !watched_.empty();
}

const Watched* Watch::most_quiet() const {
  const auto now = RankMotion::Clock::now();
  const Watched* most = nullptr;
  for (const auto& [pid, watched] : watched_) {
    if (most == nullptr || watched.motion.quiet_for(now) > most->motion.quiet_for(now)) {
      most = &watched;
    }
  }
  return most;
}

// Returns the time from the end of the last sample in which the rank had moved to the start of the
// latest one. A delay of the watcher itself (a paused machine, a slow sample) does not count.
// Negative if the rank moved in the latest sample.
milliseconds Watch::seen_quiet(const Watched& watched) const {
  return watched.motion.quiet_for(sampled_);
}

void Watch::check() {
  const Watched* quiet = most_quiet();
  if (asked_) {
    asked_ = false;
    if (options_.captures) {
      capture({});
    }
    return;
  }
  if (quiet == nullptr || !options_.captures) {
    return;
  }
  const milliseconds so_long = seen_quiet(*quiet);
  const bool due = alarm_.is_due(so_long);
  if (stall_said_ && !alarm_.raised()) {
    say("the job moves again");
    stall_said_ = false;
  }
  if (due) {
    capture({quiet->last.pid, name_of(quiet->last), so_long,
             std::max(so_long, quiet->past.still_for(Wall::now()))});
  }
}

std::vector<PastFile> Watch::pasts() const {
  std::vector<PastFile> all;
  for (const auto& [pid, watched] : watched_) {
    all.push_back({watched.last.rank, pid, watched.past.words(Wall::now())});
  }
  return all;
}

void Watch::report(const Examination& examination, const Reason& reason) {
  std::string text = reason.asked() ? "capture requested by SIGUSR1"
                                    : reason.who + " has not moved for " + span_words(reason.still);
  text += "\n" + examination.text;
  if (!examination.capture.empty()) {
    text += std::string(kWatcherWords) + "saved " + examination.capture +
            " (oddrank report reads it)\n";
  }
  text.pop_back();
  say(text);
}

void Watch::start_hook(const Examination& examination, TempFolder folder) {
  if (options_.on_stall.empty()) {
    return;
  }
  const StallFacts facts{examination.json, examination.capture, examination.kind,
                         examination.summary};
  auto hook = StallHook::start(options_.on_stall, facts, options_.hook_patience);
  if (!hook) {
    say("the --on-stall command: " + hook.error().what);
    return;
  }
  hook_.emplace(*std::move(hook));
  hook_folder_.emplace(std::move(folder));
}

// Returns true if the rank moved while it was captured, or has exited.
bool Watch::has_moved(const Reason& reason) {
  last_frames_.reset();
  sample();
  const auto watched = watched_.find(reason.pid);
  return watched == watched_.end() || seen_quiet(watched->second) < reason.quiet;
}

void Watch::excuse(const Reason& reason, const std::string& why) {
  alarm_.learn(reason.quiet);
  if (log_enabled(LogLevel::kInfo)) {
    say(reason.who + " was quiet for " + span_words(reason.quiet) + ", which is not a stall (" +
        why + "); it may now be quiet for " + span_words(alarm_.limit()));
  }
}

Result<Examination> Watch::take(const Reason& reason, const TempFolder& folder) {
  TakenCapture taken;
  taken.file = folder.path() + "/capture.odd";
  taken.folder = folder.path();
  taken.asked = reason.asked();
  ODDRANK_TRY(const std::string complaint,
              take_capture(hooks_.capture_commands(taken.file), taken.file,
                           options_.capture_patience, [this](const ChildCommand& child) {
                             return wait(Deadline::after(kCapturePoll), &child);
                           }));
  if (!complaint.empty()) {
    say("captured on this node only: " + complaint);
  }
  if (!reason.asked() && has_moved(reason)) {
    return Examination{};
  }
  taken.pasts = pasts();
  auto examination = hooks_.examine(taken);
  if (examination) {
    ++metrics_.captures;
    metrics_.kind = examination->kind;
  }
  return examination;
}

void Watch::capture(const Reason& reason) {
  auto folder = TempFolder::make("oddrank-watch-");
  auto examination = folder ? take(reason, *folder) : Result<Examination>(fail(folder.error()));
  if (is_over()) {
    return;
  }
  if (!examination) {
    say((reason.asked()
             ? ""
             : reason.who + " has not moved for " + span_words(reason.still) + ", and ") +
        "it could not be captured: " + examination.error().what);
    alarm_.raise(reason.quiet);
    ++metrics_.alarms;
    return;
  }
  if (!examination->trouble.empty()) {
    say(examination->trouble);
  }
  if (!reason.asked() && !examination->stall) {
    excuse(reason, examination->kind.empty() ? "it moved meanwhile" : examination->kind);
    return;
  }
  report(*examination, reason);
  if (reason.asked()) {
    return;
  }
  const bool again = alarm_.raised();
  alarm_.raise(reason.quiet);
  ++metrics_.alarms;
  stall_said_ = true;
  if (!again && !hook_) {
    start_hook(*examination, *std::move(folder));
  }
}

void Watch::publish() {
  if (!hooks_.publish) {
    return;
  }
  metrics_.ranks.clear();
  for (const auto& [pid, watched] : watched_) {
    metrics_.ranks.push_back({watched.last.rank, std::max(seen_quiet(watched), milliseconds(0))});
  }
  metrics_.sampled = Wall::now();
  metrics_.alarm = alarm_.raised();
  hooks_.publish(&metrics_);
}

// Lets the --on-stall command finish, but closes the job's log so that no reader of it waits for
// us.
void Watch::end() {
  if (hooks_.publish) {
    hooks_.publish(nullptr);
  }
  if (!options_.captures && hooks_.leave_past) {
    for (auto& [pid, watched] : watched_) {
      leave_past(watched, true);
    }
  }
  if (!hook_) {
    return;
  }
  const UniqueFd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  ::dup2(null.get(), STDERR_FILENO);
  while (hook_) {
    ::poll(nullptr, 0, 20);
    advance_hook();
  }
}

void Watch::run() {
  sigset_t handled;
  ::sigemptyset(&handled);
  for (const int number : {SIGUSR1, SIGTERM, SIGINT}) {
    ::sigaddset(&handled, number);
  }
  ::sigprocmask(SIG_BLOCK, &handled, nullptr);
  signals_ = UniqueFd(::signalfd(-1, &handled, SFD_CLOEXEC | SFD_NONBLOCK));
  // A command that has just started has nothing to sample yet.
  bool go_on = beside_ == nullptr || wait(Deadline::after(options_.interval), nullptr);
  while (go_on) {
    const Deadline next = Deadline::after(options_.interval);
    if (!sample() && hooks_.is_over && hooks_.is_over()) {
      break;
    }
    check();
    publish();
    go_on = wait(next, nullptr);
  }
  end();
}

}  // namespace

void run_watch(const WatchOptions& options, const WatchHooks& hooks, const BesideCommand* beside) {
  Watch(options, hooks, beside).run();
}

}  // namespace oddrank::watch
