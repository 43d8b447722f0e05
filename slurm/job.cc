#include "slurm/job.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "slurm/client.h"

namespace oddrank::slurm {
namespace {

constexpr std::size_t kMaxRecords = 100000;
constexpr std::size_t kMaxJobHosts = 65536;

using Fields = std::map<std::string, std::string, std::less<>>;

// Fields whose value extends to the end of the line, whatever it contains.
bool is_free_text(std::string_view key) {
  constexpr std::array<std::string_view, 11> kFreeText = {
      "JobName", "Comment", "AdminComment", "SystemComment", "Command", "WorkDir",
      "StdErr",  "StdIn",   "StdOut",       "SubmitLine",    "Extra"};
  return std::find(kFreeText.begin(), kFreeText.end(), key) != kFreeText.end();
}

void add_field(Fields& fields, std::string_view key, std::string_view value) {
  // The first one wins: a comment by the job's owner comes after SLURM's own fields.
  fields.emplace(std::string(key), value == "(null)" ? std::string() : std::string(value));
}

// "   JobState=RUNNING Reason=None Dependency=(null)"
void parse_line(Fields& fields, std::string_view line) {
  while (true) {
    line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
    const auto equals = line.find('=');
    const auto blank = line.find(' ');
    if (equals == std::string_view::npos) {
      return;
    }
    if (blank < equals) {  // a word without a value: the tail of a value with a blank in it
      line.remove_prefix(blank);
      continue;
    }
    const std::string_view key = line.substr(0, equals);
    line.remove_prefix(equals + 1);
    if (is_free_text(key)) {
      add_field(fields, key, trim(line));
      return;
    }
    const auto end = std::min(line.find(' '), line.size());
    add_field(fields, key, line.substr(0, end));
    line.remove_prefix(end);
  }
}

// Records begin with `first_key` at the start of a line; their other lines are indented.
std::vector<Fields> parse_records(std::string_view text, std::string_view first_key) {
  std::vector<Fields> records;
  for (const std::string_view line : split(text, '\n')) {
    if (line.starts_with(first_key)) {
      if (records.size() == kMaxRecords) {
        break;
      }
      records.emplace_back();
    }
    if (!records.empty()) {
      parse_line(records.back(), line);
    }
  }
  return records;
}

std::string text_of(const Fields& fields, std::string_view key) {
  const auto found = fields.find(key);
  return found == fields.end() ? std::string() : found->second;
}

// "8", "4-4" -> the first number.
std::int32_t number_of(const Fields& fields, std::string_view key) {
  const std::string text = text_of(fields, key);
  return parse_number<std::int32_t>(std::string_view(text).substr(0, text.find('-'))).value_or(-1);
}

// "labuser(1001)"
void take_user(Job& job, std::string_view text) {
  const auto open = text.rfind('(');
  job.user = std::string(text.substr(0, open));
  if (open != std::string_view::npos && text.back() == ')') {
    const std::string_view number = text.substr(open + 1, text.size() - open - 2);
    job.uid = parse_number<std::int64_t>(number).value_or(-1);
  }
}

Job to_job(const Fields& fields) {
  Job job;
  job.id = text_of(fields, "JobId");
  job.name = text_of(fields, "JobName");
  take_user(job, text_of(fields, "UserId"));
  job.state = text_of(fields, "JobState");
  job.reason = text_of(fields, "Reason");
  if (job.reason == "None") {
    job.reason.clear();
  }
  job.node_list = text_of(fields, "NodeList");
  job.node_count = number_of(fields, "NumNodes");
  job.tasks = number_of(fields, "NumTasks");
  job.elapsed_s = parse_duration(text_of(fields, "RunTime"));
  const std::int64_t limit = parse_duration(text_of(fields, "TimeLimit"));
  if (limit >= 0 && job.elapsed_s >= 0) {
    job.time_left_s = std::max<std::int64_t>(limit - job.elapsed_s, 0);
  }
  job.stdout_path = text_of(fields, "StdOut");
  if (const std::string requeue = text_of(fields, "Requeue"); requeue == "0" || requeue == "1") {
    job.requeue = requeue == "1";
  }
  job.restarts = number_of(fields, "Restarts");
  job.end_time = text_of(fields, "EndTime");
  job.exit_code = text_of(fields, "ExitCode");
  return job;
}

// Combines all running components of a heterogeneous job.
void take_parts(Job& job, const std::vector<Fields>& records, const std::string& leader) {
  job.id = leader;
  job.node_list.clear();
  job.tasks = 0;
  for (const Fields& fields : records) {
    if (text_of(fields, "HetJobId") != leader || text_of(fields, "JobState") != "RUNNING") {
      continue;
    }
    HetPart part;
    part.group = number_of(fields, "HetJobOffset");
    part.node_list = text_of(fields, "NodeList");
    part.tasks = number_of(fields, "NumTasks");
    job.node_list += (job.node_list.empty() ? "" : ",") + part.node_list;
    job.tasks += std::max(part.tasks, 0);
    job.parts.push_back(std::move(part));
  }
}

bool is_number(std::string_view text) {
  return !text.empty() && text.size() <= 10 && std::all_of(text.begin(), text.end(), is_digit);
}

bool is_step_of_user(std::string_view id) {
  return is_number(id.substr(0, id.find('+')));  // "0", of a het job "0+1"; not "batch", "extern"
}

// Finds the step of the ranks and its size. Agents' steps are smaller or younger.
void choose_step(Job& job, std::string_view wanted) {
  const Step* best = nullptr;
  for (const Step& step : job.steps) {
    const bool running = step.state.empty() || step.state == "RUNNING";
    if (wanted.empty() ? !running || !is_step_of_user(step.id) || step.name == "oddrank"
                       : step.id != wanted) {
      continue;
    }
    if (best == nullptr || step.tasks > best->tasks) {
      best = &step;
    }
  }
  if (best != nullptr) {
    job.step = best->id;
    // In a heterogeneous job, each component's part of a step is listed as a step of its own.
    job.tasks = best->tasks > 0 && job.parts.empty() ? best->tasks : job.tasks;
  }
}

Result<std::vector<std::string>> expand(const std::string& node_list, const Deadline& deadline) {
  ODDRANK_TRY(const std::string text,
              call_client({"scontrol", "show", "hostnames", node_list}, deadline));
  std::vector<std::string> hosts;
  for (const std::string_view word : split_blanks(text)) {
    if (hosts.size() < kMaxJobHosts) {
      hosts.emplace_back(word);
    }
  }
  if (hosts.empty()) {
    return fail(Errc::kBadData, "scontrol expands the node list " + node_list + " to nothing");
  }
  return hosts;
}

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

}  // namespace

Result<JobId> parse_job_id(std::string_view text) {
  JobId id;
  const std::string_view job = text.substr(0, text.find('.'));
  if (job.size() < text.size()) {
    id.step = std::string(text.substr(job.size() + 1));
  }
  const auto mark = job.find_first_of("_+");
  const bool good = is_number(job.substr(0, mark)) &&
                    (mark == std::string_view::npos || is_number(job.substr(mark + 1))) &&
                    (job.size() == text.size() || is_step_of_user(id.step));
  if (!good) {
    return fail(Errc::kUsage, "\"" + std::string(text.substr(0, 64)) + "\" is not a SLURM job id",
                "a job id looks like 4711, 4711_3 (task of an array) or 4711.0 (one step)");
  }
  id.job = std::string(job);
  return id;
}

std::int64_t parse_duration(std::string_view text) {
  std::int64_t days = 0;
  const auto dash = text.find('-');
  if (dash != std::string_view::npos) {
    days = parse_number<std::int32_t>(text.substr(0, dash)).value_or(-1);
    text.remove_prefix(dash + 1);
  }
  const auto parts = split(text, ':');
  if (days < 0 || parts.size() < 2 || parts.size() > 3) {
    return -1;
  }
  std::int64_t seconds = 0;
  for (const std::string_view part : parts) {
    const auto number = parse_number<std::int32_t>(part);
    if (!number || *number < 0) {
      return -1;
    }
    seconds = seconds * 60 + *number;
  }
  return days * 86400 + seconds;
}

Result<Job> parse_job(std::string_view text) {
  const std::vector<Fields> records = parse_records(text, "JobId=");
  if (records.empty()) {
    return fail(Errc::kBadData, "scontrol printed no job");
  }
  const auto running = std::find_if(records.begin(), records.end(), [](const Fields& fields) {
    return text_of(fields, "JobState") == "RUNNING";
  });
  const Fields& chosen = running == records.end() ? records.front() : *running;
  Job job = to_job(chosen);
  job.records = records.size();
  if (const std::string leader = text_of(chosen, "HetJobId");
      is_number(leader) && job.state == "RUNNING") {
    take_parts(job, records, leader);
  }
  if (!is_number(job.id) || job.state.empty()) {
    return fail(Errc::kBadData, "scontrol printed a job without id or state");
  }
  return job;
}

std::vector<Step> parse_steps(std::string_view text) {
  std::vector<Step> steps;
  for (const Fields& fields : parse_records(text, "StepId=")) {
    Step step;
    const std::string id = text_of(fields, "StepId");  // "3.batch"
    const auto dot = id.find('.');
    if (dot == std::string::npos) {
      continue;
    }
    step.id = id.substr(dot + 1);
    step.name = text_of(fields, "Name");
    step.state = text_of(fields, "State");
    step.tasks = number_of(fields, "Tasks");
    step.node_list = text_of(fields, "NodeList");
    steps.push_back(std::move(step));
  }
  return steps;
}

Result<Job> show_job(std::string_view id, const Deadline& deadline) {
  ODDRANK_TRY(const JobId wanted, parse_job_id(id));
  auto text = call_client({"scontrol", "show", "job", wanted.job}, deadline);
  if (!text) {
    return fail(std::move(text).error().in("cannot look up job " + wanted.job));
  }
  auto parsed = parse_job(*text);
  if (!parsed) {
    return fail(std::move(parsed).error().in("cannot look up job " + wanted.job));
  }
  Job job = *std::move(parsed);
  if (job.state != "RUNNING" || job.node_list.empty()) {
    return job;
  }
  if (!job.parts.empty() && wanted.job != job.id) {
    // Asked about one component, scontrol prints only that one.
    return show_job(job.id + (wanted.step.empty() ? "" : "." + wanted.step), deadline);
  }
  for (HetPart& part : job.parts) {
    ODDRANK_TRY(part.hosts, expand(part.node_list, deadline));
    job.hosts.insert(job.hosts.end(), part.hosts.begin(), part.hosts.end());
  }
  if (job.parts.empty()) {
    ODDRANK_TRY(job.hosts, expand(job.node_list, deadline));
  }
  // Not essential: if the controller fails here, only the number of ranks is unknown.
  if (const auto steps = call_client({"scontrol", "show", "step", job.id}, deadline)) {
    job.steps = parse_steps(*steps);
    choose_step(job, wanted.step);
  }
  if (!wanted.step.empty() && job.step.empty()) {
    return fail(Errc::kNotFound, "job " + job.id + " has no step " + wanted.step,
                "`scontrol show step " + job.id + "` lists its steps");
  }
  return job;
}

Status can_collect(const Job& job, std::int64_t uid) {
  const std::string name = "job " + job.id;
  if (is_one_of(job.state, {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED",
                            "SPECIAL_EXIT", "RESV_DEL_HOLD"})) {
    return fail(
        Errc::kNotFound,
        name + " has not started yet: " + job_state_words(job.state) + in_brackets(job.reason),
        "it has no ranks until it runs; `squeue -j " + job.id + "` shows when it will start");
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
        "`scontrol resume " + job.id + "` continues it");
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
        "run oddrank as " + job.user + " (root is refused, too)");
  }
  if (job.hosts.empty()) {
    return fail(Errc::kBadData, name + " runs on no node that SLURM would name");
  }
  return ok();
}

Result<Job> find_job(std::string_view id, const Deadline& deadline) {
  ODDRANK_TRY(Job job, show_job(id, deadline));
  ODDRANK_TRY_STATUS(can_collect(job, static_cast<std::int64_t>(::geteuid())));
  return job;
}

}  // namespace oddrank::slurm
