#include "aggregate/side_servers.h"

#include <algorithm>
#include <string_view>

namespace oddrank::aggregate {

using snapshot::AwaitedFile;
using snapshot::ThreadCapture;
using snapshot::Wait;
using snapshot::WaitOn;

namespace {

bool is_local_socket(const JobView& view, const AwaitedFile& file) {
  return view.text(file.local).empty() && view.text(file.link).starts_with("socket:");
}

bool serves_at(const JobView& view, const ThreadCapture& thread, std::string_view port) {
  const Wait& wait = thread.wait;
  const auto& awaited = wait.rare->awaited;
  if (thread.call || wait.on != WaitOn::kSocket) {
    return false;
  }
  if (awaited.empty()) {
    return port.empty() && view.text(wait.path).starts_with("socket:");
  }
  return std::any_of(awaited.begin(), awaited.end(), [&](const AwaitedFile& file) {
    return port.empty() ? is_local_socket(view, file) : port_of(view.text(file.local)) == port;
  });
}

}  // namespace

std::string_view port_of(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  return colon == std::string_view::npos ? std::string_view() : address.substr(colon + 1);
}

bool answers_beside(const JobView& view,
                    const Wait& waiter,
                    const snapshot::ProcessCapture& server,
                    const ThreadCapture* speaker) {
  if (waiter.on != WaitOn::kSocket) {
    return false;
  }
  const std::string_view port = port_of(view.text(waiter.rare->peer));
  return std::any_of(server.threads.begin(), server.threads.end(), [&](const ThreadCapture& each) {
    return each.has_python && &each != speaker && serves_at(view, each, port);
  });
}

}  // namespace oddrank::aggregate
