// Collects the addresses of each module's file that the native frames of a capture need, and the
// processes that have the module. Shared by naming (symbolize.h) and inlined frames (inlines.h).
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

// Identifies a file by its build id, whatever its path in a mount namespace; by its path only if it
// has no build id (empty).
using ModuleKey = std::pair<snapshot::StringId, snapshot::StringId>;
// Returns the key of a native frame's module.
ModuleKey key_of(const snapshot::Frame& frame);

struct AskedModule {
  // Processes that have it mapped, with its path: one process of each rank and its children.
  std::map<pid_t, std::pair<pid_t, snapshot::StringId>> holders;  // by the owner
  std::set<std::uint64_t> addresses;                              // of the file
};
using AskedModules = std::map<ModuleKey, AskedModule>;

// Calls visit(index, frame, address) for each native frame of the stack except inlined ones.
// `address` always lies inside the function. A return address may be past the end of its function
// if the call is the last instruction, so one is subtracted from it. A thread's current pc, or its
// pc when a signal came, is used unchanged.
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

// Collects all native frames with a module for which `wants` is true.
AskedModules ask_modules(const snapshot::Capture& capture,
                         const std::function<bool(const snapshot::Frame&)>& wants);

// Opens the module's file as one of its holders sees it; its build id must be the module's. Without
// a build id, all holders must see the same file, because it is unknown which file is meant
// (kBadData). Fails with kNotFound if no holder's file qualifies.
Result<UniqueFd> open_believed(const snapshot::Tables& tables,
                               const ModuleKey& key,
                               const AskedModule& module,
                               const OpenModule& open);

// Opens the separate debug file of the module; also fails with kNotFound if it has no build id.
Result<UniqueFd> open_debug_of(const snapshot::Tables& tables,
                               const ModuleKey& key,
                               const AskedModule& module,
                               const ModuleFiles& files);

}  // namespace oddrank::elf
