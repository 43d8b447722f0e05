#include "waits/ends/connection_facts.h"

#include <algorithm>
#include <string_view>

#include "base/base_name.h"
#include "snapshot/libraries/known_libraries.h"
#include "snapshot/variable.h"

namespace oddrank::waits {

namespace {

using snapshot::Store;
using snapshot::Tables;
using snapshot::ThreadCapture;

template <typename Matches>
bool any_frame(const ThreadCapture& thread, const Tables& tables, const Matches& matches) {
  if (thread.samples.empty()) {
    return false;
  }
  const auto& frames = tables.stack(thread.samples.back().stack).frames;
  return std::any_of(frames.begin(), frames.end(), [&](const snapshot::FrameId id) {
    const snapshot::Frame& frame = tables.frame(id);
    return matches(tables.text(frame.function), tables.text(frame.file));
  });
}

bool is_without_frames(const ThreadCapture& thread, const Tables& tables) {
  return thread.samples.empty() || tables.stack(thread.samples.back().stack).frames.empty();
}

}  // namespace

Store store_of(const snapshot::ProcessCapture& process,
               const ThreadCapture& thread,
               const std::string& peer,
               const Tables& tables) {
  const auto port = snapshot::variable_of(tables, process, "MASTER_PORT");
  const bool in_torch =
      is_without_frames(thread, tables) ||
      any_frame(thread, tables, [](std::string_view /*function*/, std::string_view file) {
        return snapshot::library_of(file) == snapshot::Library::kTorch ||
               file.find("/torch/distributed/") != std::string_view::npos;
      });
  if (process.communicates && in_torch && port && peer.ends_with(":" + std::string(*port))) {
    return Store::kMasterPort;
  }
  const bool below = any_frame(thread, tables, [](std::string_view function, std::string_view) {
    return function.find("TCPStore") != std::string_view::npos;
  });
  return below ? Store::kOther : Store::kNone;
}

bool is_below_tls(const ThreadCapture& thread, const Tables& tables) {
  return any_frame(thread, tables, [](std::string_view function, std::string_view file) {
    return function.starts_with("SSL_") || file.ends_with("/ssl.py");
  });
}

void set_connection(const SocketRow& row,
                    const TcpInfo* info,
                    Tables& tables,
                    snapshot::AwaitedFile& file) {
  file.local = tables.string(row.local);
  file.peer = tables.string(row.peer);
  file.state = row.state;
  file.unread = row.unread;
  file.unsent = row.unsent;
  if (info != nullptr) {
    file.sent_ms = info->sent_ms;
    file.received_ms = info->received_ms;
  }
}

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
