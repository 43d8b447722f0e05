// Hands out what has been read of a node so far, for the process that waits for the node in case
// the agent is killed or never finishes.
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

  // One draft is due in each quarter of `timeout` except the first; none if `take` is empty.
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
