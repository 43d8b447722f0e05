#include "ranks/cores/core_process.h"

#include <csignal>
#include <cstring>
#include <utility>

#include "attach/core/core_start.h"
#include "base/hex.h"
#include "base/secrets/mask_secrets.h"
#include "base/signals/signal_name.h"
#include "ranks/rank_identity.h"

namespace oddrank::ranks {
namespace {

constexpr std::size_t kMaxNamed = 4;

// gcore and debuggers stop the process with signals that do not end it.
bool ends_a_process(int number) {
  return number > 0 && number != SIGTRAP && number != SIGSTOP && number != SIGTSTP &&
         number != SIGCONT && number != SIGCHLD;
}

// Returns "it was ended by SIGSEGV at address 0x0, in thread 4250"; "" if no signal ended it.
std::string describe_signal(const attach::CoreTarget& target) {
  const attach::CoreNotes& notes = target.core().notes();
  const attach::CoreThread& first = notes.threads.front();
  const int number = notes.signal ? notes.signal->number : first.signal;
  if (!ends_a_process(number)) {
    return {};
  }
  std::string text = "it was ended by " + signal_name(number);
  if (notes.signal && notes.signal->address != 0) {
    text += " at address 0x" + hex_number(notes.signal->address);
  }
  if (notes.signal && notes.signal->sender > 0) {
    const bool itself = notes.signal->sender == target.pid();
    text += itself ? " from itself" : " from pid " + std::to_string(notes.signal->sender);
  }
  return text + ", in thread " + std::to_string(first.tid);
}

std::string describe_truncation(const attach::CoreFile& core) {
  if (!core.truncated()) {
    return {};
  }
  constexpr std::uint64_t kMega = std::uint64_t{1} << 20;
  return "the core is truncated: it has " + std::to_string(core.size() / kMega) + " of " +
         std::to_string((core.whole_size() + kMega - 1) / kMega) +
         " MiB (a full disk, or ulimit -c)";
}

}  // namespace

CoreIdentity identify_core(const attach::CoreTarget& target, snapshot::Tables& tables) {
  const attach::CoreNotes& notes = target.core().notes();
  const attach::CoreStart start = attach::read_core_start(target, notes);
  CoreIdentity identity;
  snapshot::ProcessCapture& process = identity.process;
  process.pid = target.pid();
  process.owner = target.pid();
  process.parent = notes.process ? notes.process->parent : 0;
  process.name = tables.string(target.name());
  process.executable = tables.string(target.executable());
  std::vector<std::string> arguments = start.arguments;
  if (arguments.empty() && notes.process) {
    arguments.push_back(notes.process->command);
  }
  process.command = tables.string(mask_command(arguments));
  for (const auto& [name, value] : start.environment.entries()) {
    process.environment.emplace_back(tables.string(name), tables.string(value));
  }
  if (const auto rank = identify_rank(start.environment)) {
    process.is_rank = true;
    process.rank = rank->rank;
    process.local_rank = rank->local_rank;
    process.world_size = rank->world_size;
    process.job_key = tables.string(rank->job);
  }
  identity.host = std::string(start.environment.get("SLURMD_NODENAME"));
  for (std::string note : {describe_signal(target), describe_truncation(target.core())}) {
    if (!note.empty()) {
      identity.notes.push_back(std::move(note));
    }
  }
  if (!start.found) {
    identity.notes.emplace_back(
        "its environment is not in the core: whether it was a rank is unknown");
  }
  return identity;
}

std::string describe_missing_files(const attach::CoreTarget& target) {
  const std::vector<attach::MissingFile> missing = target.missing_files();
  std::string text;
  for (std::size_t i = 0; i < missing.size() && i < kMaxNamed; ++i) {
    const attach::MissingFile& file = missing[i];
    const bool named = file.why.find(file.path) != std::string::npos;
    text += (i == 0 ? "" : "; ") + (named ? file.why : file.path + ": " + file.why);
  }
  if (missing.size() > kMaxNamed) {
    text += "; and " + std::to_string(missing.size() - kMaxNamed) + " more";
  }
  return text.empty() ? text : "files of the process are missing, stacks may end early: " + text;
}

}  // namespace oddrank::ranks
