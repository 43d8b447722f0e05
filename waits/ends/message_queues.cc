// Source: src/thread.cpp and src/ctx.cpp of libzmq 4.3 (names of threads), src/mailbox.cpp (an
// eventfd wakes the program's thread).
#include "waits/ends/message_queues.h"

#include <algorithm>
#include <string_view>

#include "base/base_name.h"

namespace oddrank::waits {
namespace {

constexpr std::string_view kLibrary = "libzmq";
constexpr std::string_view kIoThread = "ZMQbg/IO/";
constexpr std::string_view kThread = "ZMQbg/";

}  // namespace

bool is_message_queue_io(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables) {
  return tables.text(thread.name).starts_with(kIoThread);
}

bool is_in_message_queue(const snapshot::ThreadCapture& thread, const snapshot::Tables& tables) {
  if (thread.samples.empty() || thread.wait.on != snapshot::WaitOn::kUnknown ||
      thread.wait.holder_pid != 0 || tables.text(thread.name).starts_with(kThread) ||
      tables.text(thread.wait.syscall_name).find("poll") == std::string_view::npos) {
    return false;
  }
  const auto& frames = tables.stack(thread.samples.back().stack).frames;
  return std::any_of(frames.begin(), frames.end(), [&tables](const snapshot::FrameId id) {
    const snapshot::Frame& frame = tables.frame(id);
    return frame.kind == snapshot::FrameKind::kNative &&
           base_name(tables.text(frame.file)).starts_with(kLibrary);
  });
}

}  // namespace oddrank::waits
