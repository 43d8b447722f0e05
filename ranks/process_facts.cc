#include "ranks/process_facts.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "attach/proc_pids.h"
#include "attach/proc_root.h"
#include "attach/proc_stat.h"
#include "attach/proc_status.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "ranks/field_record.h"
#include "ranks/process_role.h"
#include "ranks/rank_identity.h"
#include "ranks/replicas.h"
#include "ranks/slurm/slurm_step.h"

namespace oddrank::ranks {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kMaxArguments = 4096;
constexpr std::size_t kMaxCommandText = 65536;
// A node has some thousand processes, which take 30 us each.
constexpr milliseconds kBatchTimeout{1000};
// After this many processes that did not answer, the others are not waited for: something on the
// node blocks all such reads.
constexpr std::size_t kMaxBlocked = 8;
constexpr std::size_t kConductsAtOnce = 8;

std::vector<std::string> split_arguments(std::string_view text) {
  std::vector<std::string> arguments;
  while (!text.empty() && arguments.size() < kMaxArguments) {
    const std::string_view argument = text.substr(0, text.find('\0'));
    text.remove_prefix(std::min(argument.size() + 1, text.size()));
    arguments.emplace_back(argument);
  }
  return arguments;
}

FactsRead refusal(const Error& error) {
  return error.code == Errc::kPermission ? FactsRead::kRefused : FactsRead::kNone;
}

// Returns the processes that can say something about the given ones: those above them, and all that
// the given ones' parents have started. Others are neither their wrappers nor their siblings.
std::set<pid_t> family_of(const std::vector<ProcessFacts>& all, const std::vector<pid_t>& given) {
  std::map<pid_t, pid_t> parents;
  std::multimap<pid_t, pid_t> children;
  for (const ProcessFacts& facts : all) {
    parents.emplace(facts.stat.pid, facts.stat.parent);
    children.emplace(facts.stat.parent, facts.stat.pid);
  }
  std::set<pid_t> family;
  std::vector<pid_t> open;
  for (const pid_t pid : given) {
    const auto parent = parents.find(pid);
    const bool has_siblings = parent != parents.end() && parent->second > 1;
    open.push_back(has_siblings ? parent->second : pid);
    for (auto above = parent; above != parents.end() && family.insert(above->second).second;) {
      above = parents.find(above->second);
    }
  }
  while (!open.empty()) {
    const pid_t pid = open.back();
    open.pop_back();
    const auto [first, last] = children.equal_range(pid);
    for (auto child = first; child != last; ++child) {
      if (family.insert(child->second).second) {
        open.push_back(child->second);
      }
    }
  }
  family.insert(given.begin(), given.end());
  return family;
}

// Returns 4026531840 of "net:[4026531840]".
std::uint64_t network_of(pid_t pid) {
  constexpr std::string_view kBefore = "net:[";
  const auto link = attach::read_process_link(pid, "ns/net");
  return link && link->starts_with(kBefore) && link->ends_with(']')
             ? parse_number<std::uint64_t>(std::string_view(*link).substr(
                                               kBefore.size(), link->size() - kBefore.size() - 1))
                   .value_or(0)
             : 0;
}

// Returns the effective user, which the kernel shows of zombies, too; kNobody if it is gone.
uid_t effective_user(pid_t pid) {
  constexpr uid_t kNobody = 65534;
  struct stat status {};
  return ::stat(("/proc/" + std::to_string(pid)).c_str(), &status) == 0 ? status.st_uid : kNobody;
}

// Reads the details of one process, in the child. A process that is no rank by its variables, and
// does not belong to the requested family, is only needed to complete the tree: its links are not
// read, nor its libraries, which take longer than all the rest.
void read_details(ProcessFacts& facts, bool of_family) {
  if (const auto text = attach::read_process_file(facts.stat.pid, "cmdline", kMaxCommandText)) {
    facts.arguments = split_arguments(*text);
  }
  bool with_links = of_family;
  auto environment = attach::read_proc_environ(facts.stat.pid);
  facts.read = environment ? FactsRead::kRead : refusal(environment.error());
  if (environment) {
    facts.environment = *std::move(environment);
    const auto identity = identify_rank(facts.environment, true);
    with_links = with_links || identity || facts.environment.has("TORCHFT_LIGHTHOUSE") ||
                 is_lighthouse(facts.arguments);
    if (identity) {
      // A setuid program is of the user who runs it.
      const auto status = attach::read_proc_status(facts.stat.pid);
      facts.user = status ? status->real_uid : facts.user;
    }
  }
  if (with_links) {
    facts.executable = attach::read_process_link(facts.stat.pid, "exe").value_or(std::string());
    facts.network = network_of(facts.stat.pid);
  }
}

bool has_libraries(const ProcessFacts& facts) {
  const auto identity = identify_rank(facts.environment, true);
  return facts.read == FactsRead::kRead && (!identity || identity->outside_step) &&
         role_of(facts.arguments, facts.stat.name) == ProcessRole::kProgram &&
         communicates(facts.stat.pid);
}

std::string cgroups_of(pid_t pid) {
  return read_file("/proc/" + std::to_string(pid) + "/cgroup", kMaxCommandText).value_or("");
}

bool is_of_root(pid_t pid) {
  return effective_user(pid) == 0;
}

std::string encode_details(const ProcessFacts& facts) {
  std::string record;
  put_field(record, std::to_string(facts.stat.pid));
  put_field(record, std::to_string(static_cast<int>(facts.read)));
  put_field(record, std::to_string(facts.user));
  put_field(record, facts.executable);
  put_field(record, std::to_string(facts.network));
  put_field(record, std::to_string(facts.arguments.size()));
  for (const std::string& argument : facts.arguments) {
    put_field(record, argument);
  }
  put_environment(record, facts.environment);
  return record;
}

std::optional<ProcessFacts> decode_details(FieldReader& reader) {
  ProcessFacts facts;
  const auto pid = reader.next_number();
  const auto read = reader.next_number();
  const auto user = reader.next_number<uid_t>();
  const auto executable = reader.next();
  const auto network = reader.next_number();
  const auto arguments = reader.next_number();
  if (!pid || !read || *read > 3 || !user || !executable || !network || !arguments ||
      *arguments > kMaxArguments) {
    return std::nullopt;
  }
  facts.stat.pid = static_cast<pid_t>(*pid);
  facts.read = static_cast<FactsRead>(*read);
  facts.user = *user;
  facts.executable = std::string(*executable);
  facts.network = *network;
  for (std::size_t i = 0; i < *arguments; ++i) {
    const auto argument = reader.next();
    if (!argument) {
      return std::nullopt;
    }
    facts.arguments.emplace_back(*argument);
  }
  auto environment = reader.next_environment();
  if (!environment) {
    return std::nullopt;
  }
  facts.environment = *std::move(environment);
  return facts;
}

// Runs in the child: reads the details of these processes one by one and sends each at once, before
// its libraries.
void send_details(const std::vector<ProcessFacts*>& wanted, const DetailReader& read, int fd) {
  // Our caller's pipes are open here too; a reader that cannot die must not keep them open.
  close_inherited(fd);
  for (ProcessFacts* facts : wanted) {
    read.details(*facts);
    if (!send_bytes(fd, encode_details(*facts))) {
      return;
    }
    std::string record;
    put_field(record, read.loaded(*facts) ? "1" : "0");
    if (!send_bytes(fd, record)) {
      return;
    }
  }
}

struct BatchEnd {
  std::size_t done = 0;  // of the processes, from the first on
  bool blocked = false;  // the first one was, at its libraries
};

// Reads the processes of `wanted` in their order, as many as answer in time.
BatchEnd read_batch(const std::vector<ProcessFacts*>& wanted,
                    const DetailReader& read,
                    milliseconds timeout) {
  IsolatedTask task;
  task.timeout = timeout;
  task.run = [&wanted, &read](int fd) { send_details(wanted, read, fd); };
  const std::vector<IsolatedResult> results = run_isolated({task}, 1);
  FieldReader reader(results.front().bytes);
  BatchEnd end;
  while (end.done < wanted.size()) {
    auto details = decode_details(reader);
    if (!details || details->stat.pid != wanted[end.done]->stat.pid) {
      break;
    }
    const auto loaded = reader.next_number();
    end.blocked = !loaded;
    if (end.blocked && end.done > 0) {
      return {end.done, false};  // it is the next one's first, and has all the time
    }
    ProcessFacts& facts = *wanted[end.done];
    facts.read = details->read;
    facts.user = details->user;
    facts.executable = std::move(details->executable);
    facts.network = details->network;
    facts.loaded = loaded == std::optional<std::size_t>(1);
    facts.arguments = std::move(details->arguments);
    facts.environment = std::move(details->environment);
    ++end.done;
    if (end.blocked) {
      break;
    }
  }
  return end;
}

std::vector<ProcessFacts*> living(std::vector<ProcessFacts>& all) {
  std::vector<ProcessFacts*> wanted;
  for (ProcessFacts& facts : all) {
    if (facts.stat.state != 'Z' && facts.stat.state != 'X') {
      wanted.push_back(&facts);
    }
  }
  return wanted;
}

void read_directly(std::vector<ProcessFacts>& all, const DetailReader& read) {
  for (ProcessFacts* facts : living(all)) {
    read.details(*facts);
    facts->loaded = read.loaded(*facts);
  }
}

}  // namespace

void read_details_of(std::vector<ProcessFacts>& all, const DetailReader& read) {
  std::vector<ProcessFacts*> wanted = living(all);
  // Processes that may block come last, so that the others do not wait for them.
  std::stable_partition(wanted.begin(), wanted.end(),
                        [](const ProcessFacts* facts) { return facts->stat.state != 'D'; });
  std::size_t blocked = 0;
  while (!wanted.empty() && blocked < kMaxBlocked) {
    const auto [done, at_libraries] = read_batch(wanted, read, kBatchTimeout);
    wanted.erase(wanted.begin(), wanted.begin() + static_cast<std::ptrdiff_t>(done));
    blocked += at_libraries ? 1 : 0;
    // On a loaded node a batch ends anywhere. Only a process that is the first of its batch and
    // does not answer is blocked.
    if (done == 0) {
      wanted.front()->read = FactsRead::kBlocked;
      wanted.erase(wanted.begin());
      ++blocked;
    }
  }
  for (ProcessFacts* facts : wanted) {
    facts->read = FactsRead::kBlocked;
  }
}

void read_conducts(const std::vector<std::size_t>& which, std::vector<ProcessFacts>& all) {
  std::vector<IsolatedTask> tasks;
  for (const std::size_t i : which) {
    all[i].activity_read = true;
    const pid_t pid = all[i].stat.pid;
    tasks.push_back({[pid](int fd) {
                       const ProcessActivity found = read_activity(pid);
                       send_bytes(fd, {static_cast<char>(found.activity),
                                       static_cast<char>(found.communicates ? 1 : 0)});
                     },
                     kBatchTimeout});
  }
  const std::vector<IsolatedResult> results = run_isolated(tasks, kConductsAtOnce, 64);
  for (std::size_t i = 0; i < results.size(); ++i) {
    const std::string& bytes = results[i].bytes;
    if (bytes.size() == 2 && static_cast<unsigned char>(bytes[0]) <=
                                 static_cast<unsigned char>(Activity::kWaitsForChild)) {
      all[which[i]].activity = {static_cast<Activity>(bytes[0]), bytes[1] == 1};
    }
  }
}

Result<std::vector<ProcessFacts>> read_process_facts(const std::vector<pid_t>& given,
                                                     bool directly) {
  ODDRANK_TRY(const std::vector<pid_t> pids, attach::list_pids());
  std::vector<ProcessFacts> all;
  all.reserve(pids.size());
  for (const pid_t pid : pids) {
    auto stat = attach::read_proc_stat(pid);
    if (stat && !stat->kernel_thread) {
      ProcessFacts facts;
      facts.stat = *std::move(stat);
      facts.user = effective_user(pid);
      all.push_back(std::move(facts));
    }
  }
  const std::set<pid_t> family = family_of(all, given);
  const auto of_family = [&](const ProcessFacts& facts) {
    return given.empty() || family.contains(facts.stat.pid);
  };
  const DetailReader read{
      [&](ProcessFacts& facts) { read_details(facts, of_family(facts)); },
      [&](const ProcessFacts& facts) { return of_family(facts) && has_libraries(facts); }};
  directly ? read_directly(all, read) : read_details_of(all, read);
  add_slurm_steps(all, cgroups_of, is_of_root);
  return all;
}

}  // namespace oddrank::ranks
