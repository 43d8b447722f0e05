#include "slurm/can_collect.h"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>

#include "base/ascii.h"
#include "base/shell_words.h"

namespace oddrank::slurm {
namespace {

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

// "OUT_OF_MEMORY" -> "out of memory"
std::string job_state_words(std::string_view state) {
  std::string words = lower_case(state);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

// "completed", "was cancelled", "failed", ...
std::string ended_words(const std::string& state) {
  if (state == "CANCELLED" || state == "PREEMPTED" || state == "REVOKED") {
    return "was " + job_state_words(state);
  }
  if (state == "TIMEOUT" || state == "DEADLINE") {
    return "reached its time limit";
  }
  if (state == "OUT_OF_MEMORY") {
    return "ran out of memory";
  }
  if (state == "NODE_FAIL" || state == "BOOT_FAIL") {
    return "ended because a node failed";
  }
  if (state == "COMPLETED" || state == "FAILED") {
    return job_state_words(state);
  }
  return "is in state " + state;
}

// scontrol writes a reason as one word: "ReqNodeNotAvail,_UnavailableNodes:n7".
std::string in_brackets(std::string text) {
  std::replace(text.begin(), text.end(), '_', ' ');
  return text.empty() ? std::string() : " (" + text + ")";
}

// Returns a hint on which user can diagnose the job.
std::string owner_hint(const Job& job, std::int64_t uid) {
  const std::string command =
      "`sudo -u " + shell_quoted(job.user) + " oddrank job " + shell_quoted(job.label) + "`";
  if (job.uid == 0) {
    return "only root can: " + command;
  }
  return uid == 0 ? "SLURM refuses root, too: " + command
                  : "ask " + job.user + " to run it, or root: " + command;
}

}  // namespace

Status can_collect(const Job& job, std::int64_t uid) {
  const std::string name = "job " + job.label;
  if (is_one_of(job.state, {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                            "SPECIAL_EXIT", "RESV_DEL_HOLD"})) {
    return fail(
        Errc::kNotFound,
        name + " has not started yet: " + job_state_words(job.state) + in_brackets(job.reason),
        "it has no ranks until it runs; `squeue -j " + shell_quoted(job.id) +
            "` shows when it will start");
  }
  if (is_one_of(job.state, {"COMPLETING", "STAGE_OUT", "SIGNALING"})) {
    return fail(Errc::kGone,
                name + " is just ending (" + job_state_words(job.state) +
                    "): SLURM starts nothing in it now",
                "run oddrank before a job is cancelled; until its processes are gone, "
                "`oddrank node` on its nodes may still read them");
  }
  if (is_one_of(job.state, {"SUSPENDED", "STOPPED"})) {
    return fail(
        Errc::kUnsupported,
        name + " is " + job_state_words(job.state) + ": SLURM itself has stopped all of its ranks",
        "`scontrol resume " + shell_quoted(job.id) + "` continues it");
  }
  if (job.state != "RUNNING") {
    const std::string when =
        job.end_time.empty() || job.end_time == "Unknown" ? "" : " at " + job.end_time;
    return fail(Errc::kGone, name + " " + ended_words(job.state) + when + in_brackets(job.reason),
                job.stdout_path.empty() ? "" : "its output is in " + job.stdout_path);
  }
  if (job.uid >= 0 && job.uid != uid) {
    return fail(
        Errc::kPermission,
        name + " belongs to " + job.user + ", and SLURM lets only its owner start agents in it",
        owner_hint(job, uid));
  }
  if (job.hosts.empty()) {
    return fail(Errc::kBadData, "SLURM names no node of " + name);
  }
  return ok();
}

}  // namespace oddrank::slurm
