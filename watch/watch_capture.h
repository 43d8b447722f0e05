// Takes a capture by running a program of ours that writes one, so that whatever happens to it does
// not happen to the watch.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/child_command.h"
#include "base/result.h"

namespace oddrank::watch {

// A folder of our own, in TMPDIR or /tmp, that is gone when the object is. Move-only.
class TempFolder {
 public:
  static Result<TempFolder> make();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  TempFolder(TempFolder&& other) noexcept;
  TempFolder& operator=(TempFolder&& other) noexcept;

  const std::string& path() const { return path_; }

 private:
  explicit TempFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Runs the programs one after the other until `file` is there, each for `patience` at most. `wait`
// waits a little while for the output of the one that runs, and does what else is to be done; false
// from it ends the program, and all (kGone). Returns what the first one complained of where only a
// later one succeeded, else "". An Error: that of the first one.
Result<std::string> take_capture(const std::vector<std::vector<std::string>>& programs,
                                 const std::string& file,
                                 std::chrono::milliseconds patience,
                                 const std::function<bool(const ChildCommand&)>& wait);

}  // namespace oddrank::watch
