#include "watch/watch_capture.h"

#include <unistd.h>

#include <optional>
#include <utility>

#include "base/deadline.h"
#include "base/split.h"

namespace oddrank::watch {
namespace {

constexpr std::chrono::milliseconds kCaptureGrace{1000};
constexpr std::size_t kMaxComplaint = 2000;

Status run(const std::vector<std::string>& argv,
           const std::string& file,
           std::chrono::milliseconds patience,
           const std::function<bool(const ChildCommand&)>& wait) {
  ProgramCall command;
  command.argv = argv;
  ODDRANK_TRY(ChildCommand child, ChildCommand::start(command));
  std::string said;
  const OutputSink sink = [&said](OutputStream stream, std::string_view bytes) {
    if (stream == OutputStream::kStderr && said.size() < kMaxComplaint) {
      said += bytes.substr(0, kMaxComplaint - said.size());
    }
  };
  const Deadline deadline = Deadline::after(patience);
  while (!child.exit_status()) {
    const bool go_on = wait(child);
    child.read_output(sink);
    if (!go_on || deadline.passed()) {
      child.stop(kCaptureGrace, sink);
      return fail(go_on ? Errc::kTimeout : Errc::kGone, "the capture timed out");
    }
  }
  child.read_output(sink);
  if (::access(file.c_str(), R_OK) == 0) {
    return ok();
  }
  const auto lines = split(trim(said), '\n');
  return fail(Errc::kIo, lines.empty() ? "the capture failed" : std::string(lines.front()));
}

}  // namespace

Result<std::string> take_capture(const std::vector<std::vector<std::string>>& programs,
                                 const std::string& file,
                                 std::chrono::milliseconds patience,
                                 const std::function<bool(const ChildCommand&)>& wait) {
  std::optional<Error> first;
  for (const std::vector<std::string>& argv : programs) {
    const Status taken = run(argv, file, patience, wait);
    if (taken) {
      return first ? first->what : std::string();
    }
    if (taken.error().code == Errc::kGone) {
      return fail(taken.error());
    }
    first = first ? first : taken.error();
  }
  return fail(first.value_or(Error{Errc::kUsage, "no program to capture with", ""}));
}

}  // namespace oddrank::watch
