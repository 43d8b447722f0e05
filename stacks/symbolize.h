// Names for the native frames of a capture, after the targets were let go: one pass over each file,
// shared by all processes of the node.
#pragma once

#include <functional>
#include <string>

#include "base/result.h"
#include "base/unique_fd.h"
#include "snapshot/capture.h"

namespace oddrank::stacks {

// Opens a module of a process of the capture, as that process sees it.
using OpenModule = std::function<Result<UniqueFd>(pid_t pid, const std::string& path)>;

// Gives every native frame that has a module its symbol: from the module's own tables, or from
// separate debug files by build id (/usr/lib/debug/.build-id). A file whose build id is another
// than the frame's is not believed. Frames and stacks that become equal are joined. Never fails:
// what has no name stays module+offset. May block where a file system does: call it in a child with
// a deadline (base/isolated.h).
void name_frames(snapshot::Capture& capture, const OpenModule& open);

}  // namespace oddrank::stacks
