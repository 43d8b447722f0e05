#include "node/isolated_read.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "attach/proc_status.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/printable.h"
#include "base/span_words.h"
#include "cpython/tasks/find_tasks.h"
#include "snapshot/carrier.h"
#include "snapshot/format/capture_file.h"

namespace oddrank::node {
namespace {

// Code, what and hint, each on its own line after a mark with which no capture begins.
constexpr char kErrorMark = 'E';

std::string encode_error(const Error& error) {
  return kErrorMark + std::to_string(static_cast<int>(error.code)) + "\n" + error.what + "\n" +
         error.hint;
}

Error decode_error(const std::string& text) {
  const auto what = text.find('\n');
  const auto hint = what == std::string::npos ? what : text.find('\n', what + 1);
  const auto code = hint == std::string::npos
                        ? std::nullopt
                        : parse_number<int>(std::string_view(text).substr(1, what - 1));
  if (!code || *code < 0 || *code > static_cast<int>(Errc::kUsage)) {
    return {Errc::kIo, "the reader sent an incomplete error", ""};
  }
  return {static_cast<Errc>(*code), text.substr(what + 1, hint - what - 1), text.substr(hint + 1)};
}

// Describes how a reader that sent neither ended.
Error reader_failure(const IsolatedResult& result) {
  switch (result.end) {
    case IsolatedEnd::kDeadline:
      return {Errc::kTimeout,
              "did not answer in " + span_words(result.took) +
                  (result.held_up_by.empty() ? ""
                                             : ": held up by " + result.held_up_by +
                                                   ", whose file system does not answer"),
              ""};
    case IsolatedEnd::kCrashed:
      return {Errc::kIo,
              result.signal != 0 ? "the reader was ended by signal " + std::to_string(result.signal)
                                 : "the reader failed",
              ""};
    case IsolatedEnd::kNoMemory:
      return {Errc::kBadData, "the reader needed more memory than it may have", ""};
    case IsolatedEnd::kNotRun:
      return {Errc::kIo, "no reader could be started", ""};
    case IsolatedEnd::kNoTime:
      return {Errc::kTimeout, "not read: the time for this node was over", ""};
    case IsolatedEnd::kFinished:
      break;
  }
  return {
      Errc::kIo,
      result.bytes.empty() ? "the reader sent nothing" : "the reader sent an incomplete capture",
      ""};
}

constexpr uid_t kOverflowUid = 65534;  // the kernel's default for users of other namespaces

}  // namespace

std::size_t readers_at_once() {
  cpu_set_t cpus;
  // It fails on machines with more CPUs than the set has room for.
  const int count = ::sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus) : 4;
  return static_cast<std::size_t>(std::clamp(count, 2, 4));
}

std::uint64_t reading_owner(pid_t pid) {
  const auto status = attach::read_proc_status(pid);
  return status && status->real_uid == status->effective_uid &&
                 status->effective_uid == status->saved_uid && status->effective_uid != kOverflowUid
             ? status->effective_uid
             : kNoOwner;
}

void send_capture(int fd, const Result<snapshot::Capture>& capture) {
  send_bytes(fd, capture ? snapshot::encode_capture(*capture, snapshot::Packing::kStored)
                         : encode_error(capture.error()));
}

void send_process(int fd, Result<snapshot::Capture> capture) {
  if (!capture || capture->processes.empty() || capture->processes.front().tasks.empty()) {
    send_capture(fd, capture);
    return;
  }
  const std::size_t all = capture->processes.front().tasks.size();
  std::string why = all < cpython::kMaxTasks
                        ? ""
                        : "only " + std::to_string(cpython::kMaxTasks) + " of its tasks are shown";
  std::string bytes;
  for (std::size_t kept = all;; kept /= 2) {
    snapshot::Capture part;  // with the tables that it needs
    part.nodes = capture->nodes;
    snapshot::ProcessCapture process = capture->processes.front();
    process.tasks.resize(kept);
    if (kept < all) {
      why = std::to_string(kept) + " of its " + std::to_string(all) +
            " tasks are shown: the others do not fit into a capture";
    }
    part.processes.push_back(snapshot::Carrier(capture->tables, part.tables).row(process));
    part.processes.front().why =
        part.tables.string(join_clauses(why, capture->tables.text(process.why)));
    bytes = snapshot::encode_capture(part, snapshot::Packing::kStored);
    if (kept == 0 || (bytes.size() < kMaxOutput && snapshot::decode_capture(bytes))) {
      break;
    }
  }
  send_bytes(fd, bytes);
}

Result<snapshot::Capture> received_capture(const IsolatedResult& result) {
  if (!result.bytes.empty() && result.bytes.front() == kErrorMark) {
    return fail(decode_error(result.bytes));
  }
  auto capture = snapshot::decode_capture(result.bytes);
  if (!capture) {
    return fail(reader_failure(result));
  }
  return capture;
}

void note_no_time(const std::vector<IsolatedResult>& results,
                  std::string_view what,
                  std::vector<std::string>& notes) {
  const auto left = std::count_if(results.begin(), results.end(), [](const IsolatedResult& result) {
    return result.end == IsolatedEnd::kNoTime;
  });
  if (left != 0) {
    notes.push_back("no time was left for " + std::string(what) + " of " + std::to_string(left) +
                    (left == 1 ? " rank" : " ranks"));
  }
}

}  // namespace oddrank::node
