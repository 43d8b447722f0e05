// A small job that hangs, for `oddrank demo`: four plain Python processes on this machine, without
// PyTorch and without SLURM. They run a real job (train.py) on bad data: in step 3, the file of
// rank 2 is a named pipe that no process writes to. So rank 2 waits for the pipe, rank 3 for rank
// 2, rank 0 for rank 3, and rank 1 for rank 0.
//
// The processes end when oddrank ends: the destructor ends them, or the kernel if oddrank is
// killed. Only in the latter case, the folder of the job stays.
//
// The program that the ranks of `oddrank demo` run: cli/demo/train.py, which is built into oddrank.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/deadline.h"
#include "base/files/temp_folder.h"
#include "base/programs/child_command.h"
#include "base/result.h"

namespace oddrank::cli {

// Move-only. Precondition: one thread (a rank gets a signal when the thread that started it ends).
class DemoJob {
 public:
  // Starts the ranks. kNotFound: no python3 on PATH; kIo, kPermission: no folder, or no process.
  static Result<DemoJob> start();
  ~DemoJob();
  DemoJob(const DemoJob&) = delete;
  DemoJob& operator=(const DemoJob&) = delete;
  DemoJob(DemoJob&&) noexcept = default;
  DemoJob& operator=(DemoJob&&) = delete;

  // Waits until every rank is at its last place and sleeps there; returns early once `ended` is a
  // signal. kGone: a rank exited; kTimeout.
  Status wait_until_hung(const Deadline& deadline, const std::atomic<int>& ended);

  // Returns them in the order of the ranks.
  std::vector<pid_t> pids() const;
  std::string script() const { return folder_.path() + "/demo/train.py"; }
  // Returns the path of the named pipe. If "data" is written to it, the job runs to its end.
  std::string pipe() const;
  // Reads the ranks' output, so that no full pipe holds them up, and returns whether all have
  // exited.
  bool has_ended();

 private:
  struct DemoRank {
    ChildCommand process;
    std::string place;    // the last whole line that it has printed
    std::string partial;  // the line that has not ended yet
    std::string errors;

    void listen();
    bool stands(std::size_t number) const;
  };

  explicit DemoJob(TempFolder folder) : folder_(std::move(folder)) {}
  Status write_data() const;
  Status start_ranks();

  TempFolder folder_;
  std::vector<DemoRank> ranks_;
};

// Returns the text of the script.
std::string_view demo_script();

}  // namespace oddrank::cli
