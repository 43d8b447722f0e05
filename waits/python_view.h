// A CPython process as the readers of its locks want it: its threads by tid, their frames as
// addresses, and what code they run. One look, kept as long as one reading of the waits.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attach/target.h"
#include "stacks/cpython/code_object.h"
#include "stacks/cpython/detect.h"
#include "stacks/cpython/frame_chain.h"
#include "stacks/cpython/remote_reader.h"

namespace oddrank::waits {

struct PythonThreadView {
  pid_t target_tid = 0;       // in the target's pid namespace; 0 = unknown
  std::uint64_t pthread = 0;  // what Python calls the thread's ident
  attach::Addr interpreter{};
  std::vector<stacks::cpython::RawFrame> frames;  // innermost first
};

class PythonView {
 public:
  // nullopt: no CPython that can be read. The target must outlive the view.
  static std::optional<PythonView> open(const attach::Target& target);

  stacks::cpython::RemoteReader& reader() { return reader_; }
  const stacks::cpython::Layout& layout() const { return runtime_.layout; }
  const std::vector<PythonThreadView>& threads() const { return threads_; }
  // nullptr: no Python thread has this number.
  const PythonThreadView* by_tid(pid_t target_tid) const;
  const PythonThreadView* by_ident(std::uint64_t pthread) const;

  // Name and file of a frame's code; not readable if it is none.
  const stacks::cpython::CodeObject& code(const stacks::cpython::RawFrame& frame);
  // "save (train.py:61)"; "" if the code cannot be read.
  std::string place(const stacks::cpython::RawFrame& frame);

 private:
  PythonView(const attach::Target& target, stacks::cpython::Runtime runtime)
      : runtime_(std::move(runtime)), reader_(target) {}

  stacks::cpython::Runtime runtime_;
  stacks::cpython::RemoteReader reader_;
  stacks::cpython::CodeCache codes_;
  std::vector<PythonThreadView> threads_;
};

}  // namespace oddrank::waits
