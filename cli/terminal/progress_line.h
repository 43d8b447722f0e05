// Shows the progress of long work on stderr: on a terminal one line that rewrites itself, otherwise
// plain lines.
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

namespace oddrank::cli {

class ProgressLine {
 public:
  // `what`: "nodes", "processes". Prints nothing if `quiet`, or if the work takes less than a
  // second.
  ProgressLine(std::string what, bool quiet);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ProgressLine(ProgressLine&&) = delete;
  ProgressLine& operator=(ProgressLine&&) = delete;

  // `waiting_for`: the slow ones and their activities; may be empty. `doing`: why it takes longer;
  // printed once for each change.
  void update(std::size_t done,
              std::size_t total,
              const std::string& waiting_for = "",
              const std::string& doing = "");

 private:
  std::string what_;
  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  std::string doing_;
  std::chrono::steady_clock::time_point started_;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace oddrank::cli
