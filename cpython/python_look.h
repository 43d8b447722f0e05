// One look at a CPython process, for readers of its objects (locks, say): the frames of its threads
// as addresses, the pages of memory that were fetched for them, and the code that they run. What is
// read through it is mostly as old as the look, so that objects fit the frames that lead to them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "cpython/code_object.h"
#include "cpython/frame_chain.h"
#include "cpython/layouts/layout.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {

struct ThreadLook {
  pid_t target_tid = 0;          // in the target's pid namespace; 0 = unknown
  std::uint64_t pthread = 0;     // what Python calls the thread's ident
  std::vector<RawFrame> frames;  // innermost first
};

class PythonLook {
 public:
  // The target that `reader` reads must outlive the look.
  PythonLook(RemoteReader reader,
             const Layout& layout,
             CodeCache codes,
             std::vector<ThreadLook> threads)
      : reader_(std::move(reader)),
        layout_(layout),
        codes_(std::move(codes)),
        threads_(std::move(threads)) {}

  RemoteReader& reader() { return reader_; }
  const Layout& layout() const { return layout_; }
  const std::vector<ThreadLook>& threads() const { return threads_; }
  // nullptr: no Python thread has this number.
  const ThreadLook* by_tid(pid_t target_tid) const;
  const ThreadLook* by_ident(std::uint64_t pthread) const;

  // Name and file of a frame's code; not readable if it is none.
  const CodeObject& code(const RawFrame& frame) const { return codes_.at(frame.code); }
  // "save (train.py:61)"; "" if the code cannot be read.
  std::string place(const RawFrame& frame) const;

 private:
  RemoteReader reader_;
  Layout layout_;
  CodeCache codes_;
  std::vector<ThreadLook> threads_;
};

}  // namespace oddrank::cpython
