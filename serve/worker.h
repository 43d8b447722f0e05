// Makes one report in a forked child, while the parent answers clients.
//
// So a capture leaves no memory or descriptors behind, a crash costs one report, and code that
// blocks, confines its process (base/confine.h) or forks readers (base/isolated.h) has a process
// with one thread. The child has only our stdin, stdout and stderr, no client and no port. Its
// stderr is passed on to ours. If we die, it is killed, and its own children with it.
//
// Precondition: the caller has one thread only (it forks without exec).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>

#include "base/deadline.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "serve/product.h"

namespace oddrank::serve {

class Worker {
 public:
  static constexpr std::size_t kMaxProduct = std::size_t{1} << 30;  // bytes

  // Starts the child. kIo: no descriptor, memory or process is left for it.
  static Result<Worker> start(const MakeProduct& make, std::chrono::milliseconds limit);
  // Kills the child if it still runs.
  ~Worker();
  Worker(Worker&& other) noexcept;
  Worker& operator=(Worker&&) = delete;
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  // Passes on its stderr. Returns nullopt while it works; then its report or the reason why there
  // is none, and reaps it. Never blocks. kTimeout: it was killed at its limit.
  std::optional<Result<Product>> poll();
  // Returns the last line of its stderr, printable and short; "" if none.
  const std::string& last_line() const { return last_line_; }

  // Ends it like Ctrl-C, so that it ends its agents on other machines; kills it after `patience`.
  void stop(std::chrono::milliseconds patience);

 private:
  Worker(pid_t pid, UniqueFd made, UniqueFd said, std::chrono::milliseconds limit);
  [[noreturn]] static void run(const MakeProduct& make, int made, int said, pid_t parent);
  void pass_on();
  bool reap(int& status);
  // Passes on its stderr until it has ended and was reaped, or `patience` is over.
  void wait_for_end(std::chrono::milliseconds patience);
  void kill_and_reap();

  pid_t pid_;  // -1: reaped, or moved from
  UniqueFd made_;
  UniqueFd said_;
  Deadline deadline_;
  std::string line_;  // not ended yet
  std::string last_line_;
};

}  // namespace oddrank::serve
