#include "watch/stall_hook.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/split.h"
#include "snapshot/libraries/launcher_variables.h"

namespace oddrank::watch {
namespace {

constexpr std::size_t kMaxOutput = 4096;
constexpr std::chrono::milliseconds kHookGrace{200};

// Beside those of launchers: they say which rank a process is.
constexpr std::array<std::string_view, 3> kIdentity = {"GROUP_RANK", "PMI_ID", "SLURM_GTIDS"};

bool is_identity(std::string_view variable) {
  const std::string_view name = variable.substr(0, variable.find('='));
  return std::ranges::find(kIdentity, name) != kIdentity.end() ||
         std::ranges::any_of(snapshot::kLaunchers, [name](const auto& launcher) {
           return name == launcher.rank || name == launcher.local_rank;
         });
}

}  // namespace

std::vector<std::string> hook_environment(const std::vector<std::string>& environment,
                                          const StallFacts& facts) {
  std::vector<std::string> kept;
  std::copy_if(environment.begin(), environment.end(), std::back_inserter(kept),
               [](const std::string& variable) { return !is_identity(variable); });
  kept.push_back("ODDRANK_JSON=" + facts.json);
  kept.push_back("ODDRANK_CAPTURE=" + facts.capture);
  kept.push_back("ODDRANK_KIND=" + facts.kind);
  kept.push_back("ODDRANK_SUMMARY=" + facts.summary);
  return kept;
}

Result<StallHook> StallHook::start(const std::string& command,
                                   const StallFacts& facts,
                                   std::chrono::milliseconds patience) {
  std::vector<std::string> environment;
  for (char** variable = ::environ; variable != nullptr && *variable != nullptr; ++variable) {
    environment.emplace_back(*variable);
  }
  ProgramCall shell;
  shell.argv = {"/bin/sh", "-c", command, "oddrank-watch", facts.json};
  shell.environment = hook_environment(environment, facts);
  ODDRANK_TRY(ChildCommand child, ChildCommand::start(shell));
  return StallHook(std::move(child), Deadline::after(patience));
}

bool StallHook::advance() {
  if (ended_ || late_) {
    return false;
  }
  const OutputSink sink = [this](OutputStream, std::string_view bytes) {
    said_ += bytes;
    if (said_.size() > kMaxOutput) {
      said_.erase(0, said_.size() - kMaxOutput);
    }
  };
  ended_ = child_.exit_status();
  child_.read_output(sink);
  if (!ended_ && deadline_.passed()) {
    late_ = true;
    child_.stop(kHookGrace, sink);
  }
  return !ended_ && !late_;
}

std::string StallHook::complaint() const {
  if (ended_ && ended_->success()) {
    return {};
  }
  std::string text = late_ ? "it timed out and was stopped, with all that it had started"
                     : ended_ && ended_->signal != 0
                         ? "signal " + std::to_string(ended_->signal) + " ended it"
                         : "exit status " + std::to_string(ended_ ? ended_->code : -1);
  const auto lines = split(trim(said_), '\n');
  return lines.empty() ? text : text + ": " + std::string(lines.back().substr(0, 200));
}

std::vector<std::string> StallHook::said() const {
  std::vector<std::string> lines;
  for (const std::string_view line : split(trim(said_), '\n')) {
    lines.emplace_back(line);
  }
  if (said_.size() == kMaxOutput && !lines.empty()) {
    lines.erase(lines.begin());  // its beginning may be cut off
  }
  return lines;
}

}  // namespace oddrank::watch
