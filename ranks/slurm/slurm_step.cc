#include "ranks/slurm/slurm_step.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <set>
#include <unordered_map>
#include <utility>

#include "base/base_name.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "ranks/rank_identity.h"

namespace oddrank::ranks {

namespace {

constexpr int kMaxStepDepth = 64;

// Returns "0" for "0" and for "0+1" (a component's part of a step), names of special steps as they
// are; "" for anything else.
std::string plain_step(std::string_view text) {
  for (const std::string_view special : {"batch", "extern", "interactive"}) {
    if (text == special) {
      return std::string(special);
    }
  }
  const std::string_view number = text.substr(0, text.find('+'));
  return parse_number<std::uint32_t>(number) ? std::string(number) : std::string();
}

std::optional<SlurmStep> checked(std::string_view job, std::string_view step) {
  SlurmStep found{std::string(job), plain_step(step)};
  return parse_number<std::uint32_t>(job) && !found.step.empty() ? std::optional(std::move(found))
                                                                 : std::nullopt;
}

// "/slurm/uid_0/job_7/step_0/task_1". What systemd has handed over to a user, that user may name
// like a step.
std::optional<SlurmStep> step_of_path(std::string_view path) {
  constexpr std::string_view kJob = "job_";
  constexpr std::string_view kStep = "step_";
  const auto parts = split(path, '/');
  bool of_slurm = false;
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i] == "user.slice" || parts[i].starts_with("user@")) {
      return std::nullopt;
    }
    of_slurm = of_slurm || parts[i].find("slurm") != std::string_view::npos;
    if (of_slurm && parts[i].starts_with(kJob) && parts[i + 1].starts_with(kStep)) {
      return checked(parts[i].substr(kJob.size()), parts[i + 1].substr(kStep.size()));
    }
  }
  return std::nullopt;
}

// Returns whether SLURM's own information must replace the variables. In the parts of a
// heterogeneous job, the variables all have the id of its first part. A login is put into one of
// its user's jobs on the node, not always the one that it came from.
bool contradicts(const attach::Environment& environment, const SlurmStep& step) {
  return environment.get("SLURM_JOB_ID") != step.job && !environment.has("SLURM_HET_SIZE") &&
         step.step != "extern";
}

// The daemons above the processes of a node: one for each step.
class StepDaemons {
 public:
  StepDaemons(const std::vector<ProcessFacts>& all, const std::function<bool(pid_t)>& by_root);

  // Returns the step of the nearest daemon above the process.
  std::optional<SlurmStep> above(const ProcessFacts& facts) const;

 private:
  std::unordered_map<pid_t, SlurmStep> steps_;
  std::unordered_map<pid_t, const ProcessFacts*> processes_;
};

StepDaemons::StepDaemons(const std::vector<ProcessFacts>& all,
                         const std::function<bool(pid_t)>& by_root) {
  for (const ProcessFacts& facts : all) {
    processes_.emplace(facts.stat.pid, &facts);
    const auto step = facts.stat.name == "slurmstepd" && !facts.arguments.empty()
                          ? step_of_title(facts.arguments.front())
                          : std::nullopt;
    if (step && by_root(facts.stat.pid)) {
      steps_.emplace(facts.stat.pid, *step);
    }
  }
}

std::optional<SlurmStep> StepDaemons::above(const ProcessFacts& facts) const {
  const ProcessFacts* at = &facts;
  for (int depth = 0; depth < kMaxStepDepth; ++depth) {
    const auto parent = processes_.find(at->stat.parent);
    // A parent that is younger than its child is a pid that was used again.
    if (parent == processes_.end() || parent->second->stat.start_us > at->stat.start_us) {
      return std::nullopt;
    }
    at = parent->second;
    if (const auto step = steps_.find(at->stat.pid); step != steps_.end()) {
      return step->second;
    }
  }
  return std::nullopt;
}

attach::Environment with_step(const attach::Environment& environment, const SlurmStep& step) {
  std::vector<attach::Environment::Entry> entries = environment.entries();
  std::erase_if(entries, [](const attach::Environment::Entry& entry) {
    return entry.first == "SLURM_JOB_ID" || entry.first == "SLURM_STEP_ID";
  });
  entries.emplace_back("SLURM_JOB_ID", step.job);
  if (parse_number<std::uint32_t>(step.step)) {
    entries.emplace_back("SLURM_STEP_ID", step.step);
  }
  return attach::Environment(std::move(entries));
}

}  // namespace

std::optional<SlurmStep> step_of_cgroups(std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const auto first = line.find(':');
    const auto second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    if (auto step = step_of_path(line.substr(second + 1))) {
      return step;
    }
  }
  return std::nullopt;
}

std::optional<SlurmStep> step_of_title(std::string_view title) {
  constexpr std::string_view kBefore = "slurmstepd: [";
  const auto end = title.find(']');
  if (!title.starts_with(kBefore) || end == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view id = title.substr(kBefore.size(), end - kBefore.size());
  const auto dot = id.find('.');
  return dot == std::string_view::npos ? std::nullopt
                                       : checked(id.substr(0, dot), id.substr(dot + 1));
}

void add_slurm_steps(std::vector<ProcessFacts>& all,
                     const std::function<std::string(pid_t)>& cgroups_of,
                     const std::function<bool(pid_t)>& by_root) {
  const bool in_slurm = std::any_of(all.begin(), all.end(), [](const ProcessFacts& facts) {
    return facts.environment.has("SLURM_JOB_ID");
  });
  if (!in_slurm) {
    return;
  }
  const StepDaemons daemons(all, by_root);
  for (ProcessFacts& facts : all) {
    if (facts.read != FactsRead::kRead) {
      continue;
    }
    auto step = step_of_cgroups(cgroups_of(facts.stat.pid));
    step = step ? step : daemons.above(facts);
    const bool has_job_id = facts.environment.has("SLURM_JOB_ID");
    if (step && (has_job_id ? contradicts(facts.environment, *step)
                            : step->step != "extern" || identify_rank(facts.environment))) {
      facts.environment = with_step(facts.environment, *step);
      facts.step_proven = true;
    }
  }
}

namespace {

// A task of the answer: id (int), gtid (uint32), pid (int), exited (bool), estatus (int).
constexpr std::size_t kTaskNumberAt = 4;
constexpr std::size_t kExitedAt = 12;
constexpr std::size_t kStatusAt = 13;

std::int32_t number_at(std::string_view bytes, std::size_t at) {
  std::int32_t number = 0;
  std::memcpy(&number, bytes.data() + at, sizeof number);
  return number;
}

// Returns whether "n1_4711.0" is the socket of step 4711.0 on some node.
bool is_of_step(std::string_view name, std::string_view step) {
  return name.size() > step.size() + 1 && name.ends_with(step) &&
         name[name.size() - step.size() - 1] == '_';
}

}  // namespace

std::string step_socket(std::string_view table, std::string_view step) {
  // "Num: RefCount Protocol Flags Type St Inode Path" (net/unix/af_unix.c)
  constexpr std::uint32_t kListens = 0x10000;  // __SO_ACCEPTCON
  std::set<std::string_view> paths;
  for (const std::string_view line : split(table, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 8 && words[7].starts_with('/') && is_of_step(base_name(words[7]), step) &&
        (parse_number<std::uint32_t>(words[3], 16).value_or(0) & kListens) != 0) {
      paths.insert(words[7]);
    }
  }
  return paths.size() == 1 ? std::string(*paths.begin()) : std::string();
}

Result<std::vector<EndedTask>> parse_step_tasks(std::string_view bytes) {
  const auto bad = [] { return fail(Errc::kBadData, "slurmstepd's list of tasks is malformed"); };
  const std::size_t count = bytes.size() / kStepTaskSize;
  if (count == 0 || count > kMaxStepTasks || bytes.size() % kStepTaskSize != 0) {
    return bad();
  }
  std::set<std::int32_t> numbers;
  std::vector<EndedTask> ended;
  for (std::size_t i = 0; i < count; ++i) {
    const std::string_view task = bytes.substr(i * kStepTaskSize, kStepTaskSize);
    const std::int32_t number = number_at(task, kTaskNumberAt);
    const auto exited = static_cast<unsigned char>(task[kExitedAt]);
    const std::int32_t status = number_at(task, kStatusAt);
    if (number_at(task, 0) != static_cast<std::int32_t>(i) || number < 0 || exited > 1 ||
        !numbers.insert(number).second) {
      return bad();
    }
    if (exited == 1 && (status < 0 || status > 0xffff)) {
      return bad();
    }
    if (exited == 1) {
      ended.push_back({number, status});
    }
  }
  return ended;
}

}  // namespace oddrank::ranks
