#include "slurm/job_text.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/span_words.h"
#include "base/split.h"

namespace oddrank::slurm {

namespace {

constexpr std::size_t kMaxRecords = 100000;

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

// "5_1" for a task of an array; of tasks that do not run yet SLURM prints a list: "5_[2-4]".
std::string label_of(const Fields& fields) {
  const std::string task = text_of(fields, "ArrayTaskId");
  return task.empty() ? text_of(fields, "JobId") : text_of(fields, "ArrayJobId") + "_" + task;
}

Job to_job(const Fields& fields) {
  Job job;
  job.id = text_of(fields, "JobId");
  job.label = label_of(fields);
  job.name = text_of(fields, "JobName");
  take_user(job, text_of(fields, "UserId"));
  job.state = text_of(fields, "JobState");
  job.reason = text_of(fields, "Reason");
  if (job.reason == "None") {
    job.reason.clear();
  }
  job.node_list = text_of(fields, "NodeList");
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
  return job;
}

// Combines all running components of a heterogeneous job.
void take_parts(Job& job, const std::vector<Fields>& records, const std::string& leader) {
  job.id = leader;
  job.label = leader;
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

}  // namespace

bool is_job_number(std::string_view text) {
  return !text.empty() && text.size() <= 10 && std::all_of(text.begin(), text.end(), is_digit);
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
  for (const Fields& fields : records) {
    if (!text_of(fields, "ArrayTaskId").empty() && text_of(fields, "JobState") == "RUNNING") {
      job.tasks_of_array.push_back(label_of(fields));
    }
  }
  if (const std::string leader = text_of(chosen, "HetJobId");
      is_job_number(leader) && job.state == "RUNNING") {
    take_parts(job, records, leader);
  }
  if (!is_job_number(job.id) || job.state.empty()) {
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

namespace {

using std::chrono::seconds;

// A partition without a limit gives its jobs one of a year.
constexpr seconds kUnlimited = std::chrono::hours(24 * 300);

}  // namespace

std::string outlook_words(const Job& job) {
  std::string words;
  if (job.elapsed_s >= 0) {
    words = "the job has run for " + span_words(seconds(job.elapsed_s));
  }
  if (job.time_left_s >= 0 && seconds(job.time_left_s) < kUnlimited) {
    words += std::string(words.empty() ? "the job's" : ", its") + " time limit ends it in " +
             span_words(seconds(job.time_left_s));
  }
  if (job.requeue) {
    words += std::string(words.empty() ? "" : "; ") +
             (*job.requeue ? "if a node fails, SLURM restarts it from the beginning (Requeue=1)"
                           : "if a node fails, it ends for good (Requeue=0)");
  }
  if (job.restarts > 0 && job.requeue) {
    words += std::string(*job.requeue ? ", as it has done " : "; it was restarted ") +
             (job.restarts == 1   ? std::string("once")
              : job.restarts == 2 ? std::string("twice")
                                  : std::to_string(job.restarts) + " times");
  }
  return words;
}

}  // namespace oddrank::slurm
