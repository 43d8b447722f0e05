#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/log.h"
#include "base/parse_number.h"
#include "base/proc/own_proc.h"
#include "base/read_file.h"
#include "base/split.h"
#include "cli/commands.h"
#include "cli/environment.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/parser.h"
#include "cli/watch_examine.h"
#include "node/capture_node.h"
#include "node/watch_sample.h"
#include "slurm/job.h"
#include "snapshot/jobs/jobs.h"
#include "snapshot/libraries/launcher_variables.h"
#include "watch/rolling_files.h"
#include "watch/watch.h"
#include "watch/watch_start.h"

namespace oddrank::cli {
namespace {

using std::chrono::milliseconds;
using watch::RankSign;

// Ranks come and go; finding them costs some 10 ms.
constexpr int kSamplesBetweenFinds = 6;
// A stall is noticed by a few samples without motion, so an alarm after seconds needs samples in
// seconds.
constexpr int kSamplesInStall = 5;
constexpr milliseconds kShortestInterval{100};
// The controller is asked at most this often whether the job still runs.
constexpr milliseconds kJobCheck{30000};

struct WatchCommand {
  std::string job;
  std::string select;
  watch::WatchOptions watch;
  bool interval_given = false;
  KeepOptions keep;
  std::string metrics;  // folder; "" = none
  CommandLine command;
};

// Returns what the first launcher that tells it says about this process; -1 if none does.
std::int32_t own_number(std::string_view snapshot::LauncherVariables::*variable) {
  for (const snapshot::LauncherVariables& launcher : snapshot::kLaunchers) {
    if (const auto number =
            parse_number<std::int32_t>(own_variable(std::string(launcher.*variable)))) {
      return *number;
    }
  }
  return -1;
}

// Only some watchers capture: in SLURM the watcher of rank 0, for all nodes; elsewhere the watcher
// of each node's first rank, for its node.
bool captures_for_all(bool in_slurm) {
  const std::int32_t local = own_number(&snapshot::LauncherVariables::local_rank);
  const std::int32_t number =
      in_slurm || local < 0 ? own_number(&snapshot::LauncherVariables::rank) : local;
  return number <= 0;
}

std::string own_host() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "node";
}

std::vector<std::string> with_samples(std::vector<std::string> argv, milliseconds interval) {
  // Three samples show a rank that is merely late. With a test's short interval they come faster.
  const milliseconds apart = std::clamp(interval / 10, milliseconds(300), milliseconds(1000));
  for (const std::string& word :
       {std::string("--samples"), std::string("3"), std::string("--interval"),
        std::to_string(apart.count()) + "ms"}) {
    argv.push_back(word);
  }
  return argv;
}

// What the three ways of watching have in common.
class WatchSetup {
 public:
  WatchSetup(WatchCommand& options, std::string slurm_job);

  // The hooks refer to this object.
  watch::WatchHooks hooks();
  // Returns why metrics are wanted and cannot be written.
  Status check_metrics() const;

  // `pid`: a process of the job to watch, if several jobs run on the node.
  void set_beside(pid_t pid) { beside_ = pid; }
  // Restricts the watch to one step of the SLURM job.
  void set_step(const std::string& step) { step_ = "." + step; }
  void add_log(const std::string& path);
  void set_only(RankSign rank) { only_ = std::move(rank); }
  bool has_ranks() const { return !ranks_.empty(); }
  // Finds the ranks of this node. kUsage: they belong to several jobs and none was selected.
  Status find();

 private:
  std::vector<RankSign> sample(const watch::SampleRequest& request);
  std::string rank_variable(const std::string& name) const;
  std::string metrics_file() const;
  std::vector<std::vector<std::string>> capture_commands(const std::string& file) const;
  bool is_over();

  WatchCommand& options_;
  std::string job_;
  std::string step_;  // ".0"; "" = all of them
  std::string exe_;
  std::vector<std::string> logs_;
  std::optional<RankSign> only_;  // the command beside us
  pid_t beside_ = 0;
  std::map<pid_t, std::int32_t> ranks_;  // found here
  std::map<std::string, std::string> environment_;
  bool found_any_ = false;  // ever
  bool said_nothing_trains_ = false;
  int samples_ = 0;
  std::optional<std::chrono::steady_clock::time_point> asked_job_;
};

WatchSetup::WatchSetup(WatchCommand& options, std::string slurm_job)
    : options_(options), job_(std::move(slurm_job)) {
  options.keep.name = job_.empty() ? own_host() : job_;
  exe_ = read_link("/proc/self/exe").value_or("oddrank");
}

void WatchSetup::add_log(const std::string& path) {
  if (!path.empty()) {
    logs_.push_back(path);
  }
}

Status WatchSetup::find() {
  ODDRANK_TRY(snapshot::Capture found, node::find_ranks(job_));
  if (!options_.select.empty()) {
    const Status selected = snapshot::select_job(found, options_.select);
    if (!selected && selected.error().code != Errc::kNotFound) {
      return fail(selected.error());
    }
    if (!selected) {
      found.processes.clear();  // the job's ranks may still come, or have ended
    }
  }
  const std::vector<std::string> keys = snapshot::job_keys(found);
  if (keys.size() > 1 && job_.empty()) {
    return fail(Errc::kUsage, "ranks of " + std::to_string(keys.size()) + " jobs run on this node",
                "choose one:" + snapshot::choices(keys));
  }
  ranks_.clear();
  for (const snapshot::ProcessCapture& process : found.processes) {
    if (!process.is_rank || process.rank < 0) {
      continue;
    }
    ranks_.emplace(process.pid, process.rank);
    found_any_ = true;
    for (const auto& [name, value] : process.environment) {
      environment_.emplace(found.tables.text(name), found.tables.text(value));
    }
  }
  if (ranks_.empty() && !job_.empty() && !std::exchange(said_nothing_trains_, true)) {
    log_line(LogLevel::kWarning, "no process of job " + job_ +
                                     " on this node trains yet: nothing is watched until one does");
  }
  if (!ranks_.empty() && ranks_.count(beside_) == 0) {
    beside_ = ranks_.begin()->first;
  }
  return ok();
}

// Reads a variable of the ranks found here. Those that configure watchdogs are equal on all ranks.
std::string WatchSetup::rank_variable(const std::string& name) const {
  if (only_) {
    return own_variable(name);
  }
  const auto found = environment_.find(name);
  return found == environment_.end() ? std::string() : found->second;
}

std::vector<RankSign> WatchSetup::sample(const watch::SampleRequest& request) {
  std::vector<RankSign> targets = request.before;
  if (only_) {
    targets = request.before.empty() ? std::vector{*only_} : request.before;
  } else {
    if (samples_++ % kSamplesBetweenFinds == 0 || targets.empty()) {
      (void)find();  // if it fails, the known ranks stay
    }
    for (const auto& [pid, rank] : ranks_) {
      const bool known = std::any_of(targets.begin(), targets.end(),
                                     [pid = pid](const RankSign& one) { return one.pid == pid; });
      if (!known) {
        targets.emplace_back();
        targets.back().pid = pid;
        targets.back().rank = rank;
      }
    }
  }
  return node::sample_ranks(targets, request, logs_);
}

std::vector<std::vector<std::string>> WatchSetup::capture_commands(const std::string& file) const {
  std::vector<std::vector<std::string>> commands;
  if (!job_.empty()) {
    commands.push_back(
        with_samples({exe_, "job", job_ + step_, "--save", file, "-q"}, options_.watch.interval));
  }
  commands.push_back(
      with_samples({exe_, "agent", "--out", file, "--beside", std::to_string(beside_)},
                   options_.watch.interval));
  return commands;
}

// A batch script that only waits for us would wait for ever, since its job runs as long as the
// script does. If the kernel does not list children, true is the safe answer.
bool is_parents_only_child() {
  const std::string parent = std::to_string(::getppid());
  const auto children = read_file("/proc/" + parent + "/task/" + parent + "/children", 65536);
  return !children || trim(*children) == std::to_string(::getpid());
}

bool WatchSetup::is_over() {
  if (only_ || job_.empty() || (found_any_ && is_parents_only_child())) {
    return true;
  }
  const auto now = std::chrono::steady_clock::now();
  if (asked_job_ && now - *asked_job_ < kJobCheck) {
    return false;
  }
  asked_job_ = now;
  const auto job = slurm::show_job(job_, Deadline::after(kJobCheck));
  // If the controller does not answer, the job has not ended.
  return job ? job->state != "RUNNING" && job->state != "PENDING" && job->state != "SUSPENDED"
             : job.error().code == Errc::kNotFound || job.error().code == Errc::kGone;
}

std::string WatchSetup::metrics_file() const {
  return watch::metrics_path(options_.metrics, options_.keep.name,
                             only_ ? std::max(only_->rank, 0) : -1);
}

Status WatchSetup::check_metrics() const {
  return options_.metrics.empty() ? ok() : cli::check_metrics(metrics_file());
}

watch::WatchHooks WatchSetup::hooks() {
  watch::WatchHooks hooks;
  hooks.sample = [this](const watch::SampleRequest& request) { return sample(request); };
  hooks.capture_commands = [this](const std::string& file) { return capture_commands(file); };
  hooks.examine = [this](const watch::TakenCapture& taken) {
    return examine(taken, options_.keep);
  };
  hooks.leave_past = [this](const watch::PastFile& past) { leave_past(past, options_.keep); };
  hooks.variable = [this](const std::string& name) { return rank_variable(name); };
  if (!options_.metrics.empty()) {
    hooks.publish = [this, path = metrics_file()](const watch::WatchMetrics* metrics) {
      publish_metrics(metrics, path, options_.keep.name);
    };
  }
  hooks.is_over = [this] { return is_over(); };
  return hooks;
}

int watch_command(WatchCommand& options) {
  const Status own = check_own_proc();
  if (!own) {
    log_line(LogLevel::kWarning, "the command is not watched: " + own.error().what);
  }
  auto beside = own ? watch::split_off_watcher() : std::nullopt;
  if (!beside) {
    return watch::become_command(options.command.argv, options.command.ignored_broken_pipe);
  }
  const bool in_slurm =
      !own_variable("SLURM_JOB_ID").empty() && !own_variable("SLURM_STEP_ID").empty();
  WatchSetup setup(options, in_slurm ? own_variable("SLURM_JOB_ID") : "");
  if (in_slurm) {
    setup.set_step(own_variable("SLURM_STEP_ID"));
  }
  RankSign rank;
  rank.pid = beside->pid;
  rank.rank = own_number(&snapshot::LauncherVariables::rank);
  setup.set_only(rank);
  setup.set_beside(beside->pid);
  options.watch.captures = captures_for_all(in_slurm);
  if (const Status keep = check_keep(options.keep); !keep && options.watch.captures) {
    log_line(LogLevel::kWarning, keep.error().what + "; a stall is reported here all the same");
  }
  if (const Status metrics = setup.check_metrics(); !metrics) {
    log_line(LogLevel::kWarning, metrics.error().what);
  }
  watch::run_watch(options.watch, setup.hooks(), &*beside);
  ::_exit(0);  // no process waits for us, and destructors are the command's business
}

int watch_node(WatchCommand& options) {
  WatchSetup setup(options, options.job);
  if (!options.job.empty()) {
    const auto job = slurm::find_job(options.job, Deadline::after(kJobCheck));
    if (!job) {
      return report_error(job.error());
    }
    setup.add_log(job->stdout_path);
  } else if (const Status found = setup.find(); !found) {
    return report_error(found.error());
  } else if (!setup.has_ranks()) {
    return report_error(
        {Errc::kNotFound, "no rank of a training job was found on this node",
         "start the watch after the job, or together with each rank: oddrank watch -- CMD"});
  }
  if (const Status keep = check_keep(options.keep); !keep) {
    return report_error(keep.error());
  }
  if (const Status metrics = setup.check_metrics(); !metrics) {
    return report_error(metrics.error());
  }
  watch::run_watch(options.watch, setup.hooks(), nullptr);
  return kAllRead;
}

int run_watch_command(WatchCommand& options) {
  if (!options.interval_given) {
    options.watch.interval =
        std::max(kShortestInterval,
                 std::min(options.watch.interval, options.watch.stalled_for / kSamplesInStall));
  }
  if (options.command.argv == nullptr) {
    return watch_node(options);
  }
  if (!options.job.empty() || *options.command.argv == nullptr) {
    return report_error(
        {Errc::kUsage,
         options.job.empty() ? "no command after --" : "--job cannot be used with a command", ""});
  }
  return watch_command(options);
}

constexpr const char* kWatchFooter =
    "oddrank watch [OPTIONS] [-- CMD ARGUMENT...]\n\n"
    "The process that you start becomes CMD: it keeps its pid, gets its signals and returns its\n"
    "exit status. The watcher runs beside it and exits when it exits. In SLURM, the watcher of "
    "rank 0\n"
    "captures all nodes (oddrank job); elsewhere, the watcher of each node's first rank captures\n"
    "that node. After kill -USR1, a watcher captures at once.\n\n"
    "Examples:\n"
    "  srun oddrank watch --save /shared/hangs -- python train.py\n"
    "  torchrun --no-python ... oddrank watch -- python train.py\n"
    "  oddrank watch --stalled-for 10m --on-stall 'mail -s hang me < $1' -- python train.py\n"
    "  oddrank watch --job $SLURM_JOB_ID --save hangs &     in a batch script, before srun\n"
    "  oddrank watch                                        all ranks of this node, until they end";

}  // namespace

void add_watch_command(Parser& parser, const CommandLine& command_line) {
  auto options = std::make_shared<WatchCommand>();
  options->command = command_line;
  Command command = parser.command(
      "watch", "Watch ranks; capture the job and print the verdict when nothing moves any more");
  command.option(
      "--stalled-for", options->watch.stalled_for,
      "Report a stall after this long without motion, or after 1.5 times the longest quiet "
      "spell so far if that is longer [5m]");
  command
      .option("--interval", options->watch.interval,
              "Time between samples [10s, or a fifth of --stalled-for if that is shorter]")
      .tells([options] { options->interval_given = true; });
  command
      .option("--save", options->keep.folder, "Save captures and their JSON reports in this folder")
      .value("DIR");
  command.flag("--redact", options->keep.redact,
               "Replace hosts, addresses, users and home folders by numbers and drop local "
               "variables, in captures, reports and verdicts");
  add_mode_option(command, options->keep.mode);
  command
      .option("--keep", options->keep.keep, "Keep this many captures, 1 to 1000; delete older ones")
      .between(1, 1000)
      .shows_default();
  command
      .option("--on-stall", options->watch.on_stall,
              "Run this shell command at a stall; $1 is the path of the JSON report, and "
              "ODDRANK_JSON, ODDRANK_CAPTURE, ODDRANK_KIND, ODDRANK_SUMMARY are set")
      .value("CMD");
  command.option("--on-stall-timeout", options->watch.hook_patience,
                 "Time limit of the --on-stall command [60s]");
  command
      .option("--metrics", options->metrics,
              "Keep a file for Prometheus's textfile collector in this folder: for how long each "
              "rank has stood still, alarms, captures, the verdict")
      .value("DIR");
  const Option job =
      command
          .option("--job", options->job,
                  "Watch the ranks of this SLURM job on this node until the job ends")
          .value("JOBID");
  command
      .option("--select", options->select,
              "Choose the job with this name if several run on this node; for a SLURM job, its "
              "number is enough")
      .value("NAME")
      .not_with(job);
  command.footer(kWatchFooter);
  command.runs([options] { return run_watch_command(*options); });
}

}  // namespace oddrank::cli
