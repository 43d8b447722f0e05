#include "waits/ends/connection_words.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "snapshot/variable.h"

namespace oddrank::waits {
namespace {

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

std::string silence_words(const TcpSilence& silence) {
  constexpr std::uint32_t kSecond = 1000;
  if (silence.received_ms < kSecond) {
    return {};
  }
  std::string words = ", nothing received for " + std::to_string(silence.received_ms / kSecond);
  if (silence.sent_ms >= kSecond) {
    words += " s, nothing sent for " + std::to_string(silence.sent_ms / kSecond);
  }
  return words + " s";
}

}  // namespace

std::string store_words(const snapshot::ProcessCapture& process,
                        const ThreadCapture& thread,
                        const std::string& peer,
                        const Tables& tables) {
  const auto port = snapshot::variable_of(tables, process, "MASTER_PORT");
  if (port && peer.ends_with(":" + std::string(*port))) {
    return " (the store of MASTER_PORT)";
  }
  const bool below = any_frame(thread, tables, [](std::string_view function, std::string_view) {
    return function.find("TCPStore") != std::string_view::npos;
  });
  return below ? " (a store)" : "";
}

bool is_below_tls(const ThreadCapture& thread, const Tables& tables) {
  return any_frame(thread, tables, [](std::string_view function, std::string_view file) {
    return function.starts_with("SSL_") || file.ends_with("/ssl.py");
  });
}

std::string connection_words(const SocketRow& row,
                             const std::string& store,
                             const TcpSilence* silence,
                             bool tls) {
  std::string words =
      "TCP " + row.local + " to " + row.peer + store + ", " + socket_state_words(row.state);
  if (row.unread > 0) {
    words += ", " + std::to_string(row.unread) + " bytes not read";
  }
  if (row.unsent > 0) {
    words += ", " + std::to_string(row.unsent) + " bytes not acknowledged";
  }
  return words + (silence == nullptr ? "" : silence_words(*silence)) + (tls ? ", over TLS" : "");
}

}  // namespace oddrank::waits
