#include "node/collect/collect_programs.h"

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "attach/proc_root.h"
#include "base/base_name.h"
#include "base/clock_us.h"
#include "base/isolated.h"
#include "base/read_file.h"
#include "base/split.h"
#include "node/collect/git_commit.h"
#include "node/collect/sha256.h"
#include "node/collect/unchanged_files.h"
#include "node/isolated_read.h"
#include "ranks/process_role.h"
#include "snapshot/variable.h"

namespace oddrank::node {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;

constexpr std::size_t kMaxScript = std::size_t{1} << 20;
constexpr std::size_t kMaxGitFile = std::size_t{1} << 20;  // packed-refs has a line for each ref
constexpr std::size_t kMaxProgramWords = 65536;
constexpr std::size_t kShownOfDigest = 12;
constexpr std::size_t kMaxScriptsRead = 256;

// Returns the absolute path of the script, as the process sees it; "" if it runs none.
std::string script_path(pid_t pid) {
  const auto words = read_file("/proc/" + std::to_string(pid) + "/cmdline", kMaxProgramWords);
  std::vector<std::string> arguments;
  for (const std::string_view word : split(words ? std::string_view(*words) : "", '\0')) {
    arguments.emplace_back(word);
  }
  const std::string_view script = ranks::script_of(arguments);
  if (script.empty() || script.starts_with('/')) {
    return std::string(script);
  }
  const auto folder = attach::read_process_link(pid, "cwd");
  return folder && folder->starts_with('/') ? *folder + "/" + std::string(script) : std::string();
}

// Runs in the child.
Capture read_programs(const Capture& known) {
  std::size_t scripts = 0;
  Capture answer;
  answer.nodes.emplace_back();
  for (const ProcessCapture& process : known.processes) {
    const std::string path = process.is_rank && process.state != 'Z' && scripts < kMaxScriptsRead
                                 ? script_path(process.pid)
                                 : std::string();
    const auto files = path.empty()
                           ? Result<UnchangedFiles>(fail(Errc::kNotFound, "no script"))
                           : UnchangedFiles::of(process.pid, realtime_at(process.start_us));
    if (!files) {
      continue;
    }
    ++scripts;
    ProcessCapture found;
    found.pid = process.pid;
    if (const auto text = files->read(path, kMaxScript)) {
      snapshot::add_setup(answer.tables, found, base_name(path),
                          "sha256 " + sha256(*text).substr(0, kShownOfDigest));
    }
    const std::string commit =
        git_commit([&files](const std::string& file) { return files->read(file, kMaxGitFile); },
                   std::filesystem::path(path).lexically_normal().parent_path().string());
    if (!commit.empty()) {
      snapshot::add_setup(answer.tables, found, "git commit", commit);
    }
    answer.processes.push_back(std::move(found));
  }
  return answer;
}

}  // namespace

PendingTask read_programs_of(const Capture& capture, std::chrono::milliseconds timeout) {
  return PendingTask({[&capture](int fd) { send_capture(fd, read_programs(capture)); }, timeout});
}

void add_programs(Capture& capture, PendingTask programs) {
  const auto answer = received_capture(programs.finish());
  if (!answer) {
    return;  // an unknown value of a rank is no difference
  }
  std::map<pid_t, const ProcessCapture*> found;
  for (const ProcessCapture& process : answer->processes) {
    found[process.pid] = &process;
  }
  for (ProcessCapture& process : capture.processes) {
    const auto at = found.find(process.pid);
    if (at == found.end()) {
      continue;
    }
    for (const auto& [name, value] : at->second->setup) {
      snapshot::add_setup(capture.tables, process, answer->tables.text(name),
                          answer->tables.text(value));
    }
  }
}

}  // namespace oddrank::node
