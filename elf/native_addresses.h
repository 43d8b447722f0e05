// Which addresses of a module's file the native frames of a capture ask about, and which processes
// hold the module. What naming (symbolize.h) and inlined frames (inlines.h) have in common.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "elf/module_files.h"
#include "snapshot/capture.h"

namespace oddrank::elf {

// A file: by its build id alone, whatever path it has in whose mount namespace; by its path only
// where it has none (the build id is empty then).
using ModuleKey = std::pair<snapshot::StringId, snapshot::StringId>;
ModuleKey key_of(const snapshot::Frame& frame);

struct AskedModule {
  // Processes that have it mapped, and under which path: of each rank with its children one.
  std::map<pid_t, std::pair<pid_t, snapshot::StringId>> holders;  // by the owner
  std::set<std::uint64_t> addresses;                              // of the file
};
using AskedModules = std::map<ModuleKey, AskedModule>;

// Calls visit(index, frame, address) for each native frame of the stack that stands for a call of
// its own (not for inlined ones). `address` lies inside of the function: a return address may lie
// behind the end of its function, whose last instruction is the call; where a thread is, or was
// when a signal came, does not.
template <typename Visit>
void for_each_native(const snapshot::Tables& tables, const snapshot::Stack& stack, Visit visit) {
  bool exact = true;
  for (std::size_t i = 0; i < stack.frames.size(); ++i) {
    const snapshot::Frame& frame = tables.frame(stack.frames[i]);
    if (frame.kind != snapshot::FrameKind::kNative || (frame.flags & snapshot::kInlined) != 0) {
      continue;
    }
    const bool signal_frame = (frame.flags & snapshot::kSignalFrame) != 0;
    visit(i, frame, frame.offset - (exact || signal_frame ? 0 : 1));
    exact = signal_frame;
  }
}

// All native frames with a module for which `wants` is true.
AskedModules ask_modules(const snapshot::Capture& capture,
                         const std::function<bool(const snapshot::Frame&)>& wants);

// The module's file as a holder sees it, whose build id is the module's. Of a module without build
// id all holders must see the same file: else nobody can tell which one is whose (kBadData).
// kNotFound where there is none to be believed.
Result<UniqueFd> open_believed(const snapshot::Tables& tables,
                               const ModuleKey& key,
                               const AskedModule& module,
                               const OpenModule& open);

// The separate debug file of the module; kNotFound, too, if it has no build id.
Result<UniqueFd> open_debug_of(const snapshot::Tables& tables,
                               const ModuleKey& key,
                               const AskedModule& module,
                               const ModuleFiles& files);

}  // namespace oddrank::elf
