#include "node/drafts.h"

#include <utility>

#include "base/isolated.h"
#include "collectives/find_calls.h"
#include "node/settle_ranks.h"
#include "snapshot/format/capture_file.h"
#include "snapshot/rewrite.h"

namespace oddrank::node {

Drafts::Drafts(Take take, std::chrono::milliseconds timeout)
    : take_(std::move(take)), every_(timeout / 4), next_(Deadline::after(every_)) {}

// Works on the copy that a child has: a capture cannot be copied otherwise.
void Drafts::offer(snapshot::Capture& so_far, const std::function<void()>& complete) {
  if (take_ == nullptr || left_ == 0 || !next_.passed()) {
    return;
  }
  const IsolatedTask copy{
      [&](int fd) {
        if (complete) {
          complete();
        }
        settle_ranks(so_far);
        collectives::find_calls(so_far);
        settle_job(so_far);
        send_bytes(fd, snapshot::encode_capture(snapshot::without_secrets(std::move(so_far))));
      },
      every_};
  if (const IsolatedResult draft = run_isolated({copy}, 1).front();
      draft.end == IsolatedEnd::kFinished) {
    take_(draft.bytes);
  }
  --left_;
  next_ = Deadline::after(every_);
}

}  // namespace oddrank::node
