#include "node/debug_finder.h"

#include <chrono>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "attach/files/open_named.h"
#include "attach/files/open_path.h"
#include "base/log.h"
#include "base/programs/run_command.h"
#include "base/split.h"
#include "elf/module_files.h"

namespace oddrank::node {
namespace {

// Time limit of one file: a verdict does not wait longer for a server.
constexpr std::chrono::milliseconds kDebugPatience{5000};

}  // namespace

bool DebugFinder::asks_servers() {
  const char* urls = std::getenv("DEBUGINFOD_URLS");  // NOLINT(concurrency-mt-unsafe): one thread
  return urls != nullptr && !trim(urls).empty();
}

DebugFinder::DebugFinder(Deadline deadline) {
  if (asks_servers()) {
    until_ = deadline;
  }
}

Result<UniqueFd> DebugFinder::open(pid_t pid, const std::string& build_id) {
  const std::string path = elf::debug_file_path(build_id);
  if (path.empty()) {
    return fail(Errc::kNotFound, "no build id");
  }
  // Such files may be links (Debian's are, where several packages have the same one).
  const auto files = attach::NamedFiles::of(pid);
  auto below_root = files ? files->open(path, attach::LastLink::kFollowed)
                          : Result<UniqueFd>(fail(files.error()));
  return below_root ? std::move(below_root) : ask_server(build_id);
}

Result<UniqueFd> DebugFinder::ask_server(const std::string& build_id) {
  if (!until_ || until_->passed() || !asked_.insert(build_id).second) {
    return fail(Errc::kNotFound, "no debug file of " + build_id);
  }
  ProgramCall command;
  command.argv = {"debuginfod-find", "debuginfo", build_id};
  const auto answer = run_command(command, until_->at_most(kDebugPatience));
  if (!answer || answer->timed_out) {
    until_.reset();
    log_line(LogLevel::kInfo, !answer ? "cannot ask debuginfod: " + answer.error().what
                                      : "debuginfod did not answer in time; not asked again");
    return fail(Errc::kTimeout, "debuginfod does not answer");
  }
  if (!answer->exit.success()) {
    return fail(Errc::kNotFound, "debuginfod has no debug file of " + build_id);
  }
  return attach::open_regular(std::string(trim(answer->out)));
}

}  // namespace oddrank::node
