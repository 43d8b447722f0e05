#include "collectives/backend_threads.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "snapshot/libraries/known_libraries.h"

namespace oddrank::collectives {
namespace {

using snapshot::Frame;
using snapshot::FrameKind;
using snapshot::Library;

// Mangled names: "_ZN4gloo9transport3tcp4Loop3runEv", "_ZN4c10d16ProcessGroupNCCL...".
bool is_of_backend(const Frame& frame, const snapshot::Tables& tables) {
  if (frame.kind != FrameKind::kNative) {
    return false;
  }
  const Library library = snapshot::library_of(tables.text(frame.file));
  const std::string_view function = tables.text(frame.function);
  return library == Library::kNccl || library == Library::kGloo ||
         function.find("4gloo") != std::string_view::npos ||
         function.find("4c10d") != std::string_view::npos;
}

// Recognises the names that torch gives to its threads, since 2.3: "pt_gloo_runloop",
// "pt_nccl_watchdg", "gloo_tcp_loop". A thread that runs shows no frames.
bool is_named_as_backend(std::string_view name) {
  return name.starts_with("pt_gloo") || name.starts_with("pt_nccl") || name.starts_with("gloo_");
}

bool is_unnamed_of_torch(const Frame& frame, const snapshot::Tables& tables) {
  return frame.kind == FrameKind::kNative && tables.text(frame.function).empty() &&
         snapshot::library_of(tables.text(frame.file)) == Library::kTorch;
}

}  // namespace

bool has_backend_thread(const snapshot::ProcessCapture& process, const snapshot::Tables& tables) {
  return std::any_of(
      process.threads.begin(), process.threads.end(), [&](const snapshot::ThreadCapture& each) {
        if (each.tid == process.pid || each.samples.empty()) {
          return false;
        }
        if (is_named_as_backend(tables.text(each.name))) {
          return true;
        }
        const auto& frames = tables.stack(each.samples.back().stack).frames;
        return std::any_of(frames.begin(), frames.end(), [&](const snapshot::FrameId id) {
          const Frame& frame = tables.frame(id);
          return is_of_backend(frame, tables) ||
                 (!each.has_python && is_unnamed_of_torch(frame, tables));
        });
      });
}

}  // namespace oddrank::collectives
