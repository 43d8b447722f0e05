#include "node/collect/collect_programs.h"

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "attach/proc_root.h"
#include "base/base_name.h"
#include "base/clock_us.h"
#include "base/isolated.h"
#include "base/read_file.h"
#include "base/split.h"
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

namespace {

constexpr int kMaxFoldersAbove = 32;
constexpr std::size_t kShownDigits = 12;

bool is_hash(std::string_view text) {
  return (text.size() == 40 || text.size() == 64) &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string shown_hash(std::string_view text) {
  const std::string_view hash = trim(text);
  return is_hash(hash) ? std::string(hash.substr(0, kShownDigits)) : std::string();
}

std::string joined_path(const std::string& folder, std::string_view path) {
  return path.starts_with('/') ? std::string(path) : folder + "/" + std::string(path);
}

// Returns what follows `prefix` in a file of one line; nullopt if it is another.
std::optional<std::string> line_after(const Result<std::string>& text, std::string_view prefix) {
  if (!text || !text->starts_with(prefix)) {
    return std::nullopt;
  }
  return std::string(trim(std::string_view(*text).substr(prefix.size())));
}

bool is_absent(const Result<std::string>& text) {
  return !text && text.error().code == Errc::kNotFound;
}

// A line is "HASH refs/heads/main"; others are comments, or what a tag leads to ("^HASH").
std::string packed_ref(std::string_view packed, std::string_view ref) {
  for (const std::string_view line : split(packed, '\n')) {
    const auto words = split_blanks(line);
    if (words.size() == 2 && words[1] == ref) {
      return shown_hash(words[0]);
    }
  }
  return {};
}

// `folder`: the folder of the repository's files, for one working tree.
std::string commit_of(const ReadSmall& read, const std::string& folder, std::string_view head) {
  constexpr std::string_view kRef = "ref: ";
  if (!head.starts_with(kRef)) {
    return shown_hash(head);
  }
  const std::string ref(trim(head.substr(kRef.size())));
  if (!ref.starts_with("refs/")) {
    return {};
  }
  const auto common = line_after(read(folder + "/commondir"), "");
  const std::string shared = common ? joined_path(folder, *common) : folder;
  const auto loose = read(shared + "/" + ref);
  if (loose) {
    return shown_hash(*loose);
  }
  const auto packed = is_absent(loose) ? read(shared + "/packed-refs") : loose;
  return packed ? packed_ref(*packed, ref) : std::string();
}

}  // namespace

std::string git_commit(const ReadSmall& read, const std::string& folder) {
  if (!folder.starts_with('/')) {
    return {};
  }
  std::string above = folder;
  for (int i = 0; i < kMaxFoldersAbove; ++i) {
    above.resize(above.find_last_not_of('/') + 1);
    const auto head = read(above + "/.git/HEAD");
    if (head) {
      return commit_of(read, above + "/.git", *head);
    }
    // In a second working tree and in a submodule, .git is a file.
    const auto file = read(above + "/.git");
    if (const auto elsewhere = line_after(file, "gitdir: ")) {
      const std::string files = joined_path(above, *elsewhere);
      const auto its_head = read(files + "/HEAD");
      return its_head ? commit_of(read, files, *its_head) : std::string();
    }
    if (!is_absent(head) || !is_absent(file) || above.empty()) {
      return {};
    }
    above.resize(above.rfind('/'));
  }
  return {};
}

}  // namespace oddrank::node
