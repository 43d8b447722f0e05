// Hands out what has been read of a node while the reading goes on, so that whoever waits for the
// node has that if its agent is killed, or never gets to its end.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/deadline.h"
#include "snapshot/capture.h"

namespace oddrank::node {

class Drafts {
 public:
  // Takes an encoded capture (snapshot/format/capture_file.h).
  using Take = std::function<void(const std::string& draft)>;

  // One draft is due in each quarter of `timeout` but the first. If `take` is empty, none is.
  Drafts(Take take, std::chrono::milliseconds timeout);

  // Hands out a copy, with what `complete` adds to it, if one is due: processes that have not been
  // read are there without threads, and native frames may lack names.
  void offer(snapshot::Capture& so_far, const std::function<void()>& complete = {});

 private:
  Take take_;
  std::chrono::milliseconds every_;
  Deadline next_;
  int left_ = 4;  // sampling may take longer than `timeout`
};

}  // namespace oddrank::node
