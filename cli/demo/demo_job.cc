#include "cli/demo/demo_job.h"

#include <poll.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <string_view>

#include "base/proc/own_proc.h"
#include "base/read_file.h"
#include "base/write_file.h"
#include "cli/environment.h"

namespace oddrank::cli {
namespace {

constexpr std::size_t kRanks = 4;
constexpr std::size_t kSteps = 3;  // as in train.py
constexpr std::size_t kStuckRank = 2;
constexpr std::size_t kStuckStep = 3;
constexpr std::size_t kMaxDemoErrors = 4096;  // bytes
constexpr int kLookAgain = 5;                 // ms

// The part of our environment that the interpreter needs. All other variables (of a launcher, of
// SLURM, of Python) could make it look like another job.
constexpr std::array kPassedOn = {"PATH", "LD_LIBRARY_PATH", "TMPDIR", "LANG"};

std::string data_file(const std::string& folder, std::size_t rank, std::size_t step) {
  return folder + "/rank" + std::to_string(rank) + "-step" + std::to_string(step) + ".bin";
}

std::vector<std::string> demo_environment(std::size_t rank) {
  std::vector<std::string> variables = {"RANK=" + std::to_string(rank),
                                        "LOCAL_RANK=" + std::to_string(rank),
                                        "WORLD_SIZE=" + std::to_string(kRanks)};
  for (const char* name : kPassedOn) {
    if (std::string value = own_variable(name); !value.empty()) {
      variables.push_back(name + ("=" + std::move(value)));
    }
  }
  return variables;
}

// Returns what a rank has printed when it arrives at the place where it stays. In each turn of
// all_reduce a number moves on by one rank, so a rank is held up later, the farther it is after
// rank 2.
std::string last_place(std::size_t rank) {
  const std::string step = std::to_string(kStuckStep);
  if (rank == kStuckRank) {
    return "load " + step;
  }
  return "all_reduce " + step + " " + std::to_string((rank + kRanks - kStuckRank - 1) % kRanks);
}

// Returns whether the kernel says that the process sleeps.
bool is_asleep(pid_t pid) {
  constexpr std::size_t kMaxStat = 4096;
  const auto stat = read_record("/proc/" + std::to_string(pid) + "/stat", kMaxStat);
  const std::size_t name_end = stat ? stat->rfind(')') : std::string::npos;
  return name_end != std::string::npos && stat->substr(name_end, 3) == ") S";
}

Error rank_exited(std::size_t rank, const ProgramEnd& end, const std::string& errors) {
  const std::size_t last = errors.find_last_not_of('\n');
  const std::size_t before = errors.rfind('\n', last);
  const std::string line =
      last == std::string::npos
          ? ""
          : ": " + errors.substr(before == std::string::npos ? 0 : before + 1, last - before);
  return {Errc::kGone,
          "rank " + std::to_string(rank) + " of the demo exited with " +
              (end.signal != 0 ? "signal " + std::to_string(end.signal)
                               : "status " + std::to_string(end.code)) +
              line,
          "does `python3 -c 0` work here?"};
}

}  // namespace

Result<DemoJob> DemoJob::start() {
  ODDRANK_TRY_STATUS(check_own_proc());
  ODDRANK_TRY(TempFolder folder, TempFolder::make("oddrank-demo-"));
  DemoJob job(std::move(folder));
  ODDRANK_TRY_STATUS(job.write_data());
  ODDRANK_TRY_STATUS(job.start_ranks());
  return job;
}

DemoJob::~DemoJob() {
  for (DemoRank& rank : ranks_) {
    rank.process.signal(SIGTERM);  // to all of them, before any is waited for
  }
}

std::string DemoJob::pipe() const {
  return data_file(folder_.path(), kStuckRank, kStuckStep);
}

Status DemoJob::write_data() const {
  // A report shows a script with the folder that it is in.
  if (::mkdir((folder_.path() + "/demo").c_str(), 0700) != 0) {
    return fail(errno_code(errno), "cannot make a folder in " + folder_.path());
  }
  ODDRANK_TRY_STATUS(write_file(script(), demo_script()));
  for (std::size_t i = 0; i < kRanks * kSteps; ++i) {
    const std::string path = data_file(folder_.path(), i / kSteps, i % kSteps + 1);
    if (path == pipe()) {
      continue;
    }
    ODDRANK_TRY_STATUS(write_file(path, std::string(kRanks, static_cast<char>(i))));
  }
  if (::mkfifo(pipe().c_str(), kPrivateMode) != 0) {
    return fail(errno_code(errno),
                "cannot make the named pipe " + pipe() + ": " + errno_text(errno),
                "set TMPDIR to a folder of a file system of this machine");
  }
  return ok();
}

Status DemoJob::start_ranks() {
  for (std::size_t rank = 0; rank < kRanks; ++rank) {
    ProgramCall call;
    // Isolated and without site: additions of the user's Python are not part of the demo.
    call.argv = {"python3", "-I", "-S", script(), folder_.path()};
    call.environment = demo_environment(rank);
    call.readable_by_us = true;
    auto process = ChildCommand::start(call);
    if (!process) {
      Error error = std::move(process).error();
      error.hint = "the ranks of the demo are Python programs: install python3, or put it on PATH";
      return fail(std::move(error));
    }
    ranks_.push_back(DemoRank{*std::move(process), "", "", ""});
  }
  return ok();
}

void DemoJob::DemoRank::listen() {
  process.read_output([this](OutputStream stream, std::string_view bytes) {
    if (stream == OutputStream::kStderr) {
      errors.append(bytes.substr(0, kMaxDemoErrors - std::min(kMaxDemoErrors, errors.size())));
      return;
    }
    for (const char byte : bytes) {
      if (byte == '\n') {
        place = std::exchange(partial, {});
      } else {
        partial += byte;
      }
    }
  });
}

bool DemoJob::DemoRank::stands(std::size_t number) const {
  return place == last_place(number) && is_asleep(process.pid());
}

Status DemoJob::wait_until_hung(const Deadline& deadline, const std::atomic<int>& ended) {
  while (ended == 0) {
    std::size_t standing = 0;
    std::vector<pollfd> polled;
    for (std::size_t i = 0; i < ranks_.size(); ++i) {
      const auto end = ranks_[i].process.exit_status();
      ranks_[i].listen();
      if (end) {
        return fail(rank_exited(i, *end, ranks_[i].errors));
      }
      standing += ranks_[i].stands(i) ? 1 : 0;
      ranks_[i].process.add_pollfds(polled);
    }
    if (standing == ranks_.size()) {
      return ok();
    }
    if (deadline.passed()) {
      return fail(Errc::kTimeout, "the ranks of the demo did not come to where they hang in time",
                  "is this machine very busy?");
    }
    // A rank says where it goes, and sleeps a moment later.
    ::poll(polled.data(), polled.size(), kLookAgain);
  }
  return ok();
}

std::vector<pid_t> DemoJob::pids() const {
  std::vector<pid_t> all;
  for (const DemoRank& rank : ranks_) {
    all.push_back(rank.process.pid());
  }
  return all;
}

bool DemoJob::has_ended() {
  std::size_t exited = 0;
  for (DemoRank& rank : ranks_) {
    exited += rank.process.exit_status() ? 1 : 0;
    rank.listen();
  }
  return exited == ranks_.size();
}

}  // namespace oddrank::cli
