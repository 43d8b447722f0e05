// What a rank runs with, so that ranks can be compared: builds of the libraries that communicate,
// the kernel, the driver of the GPUs.
#pragma once

#include "attach/target.h"
#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::node {

// Adds the build ids of the communication libraries that the target has mapped to `process.setup`,
// by the names of their files: "libmpi.so.40" "build 3f2a9c1d7e55". Read from the target's memory
// (for a live one, pass only resident memory, since waiting for a library's file is not worth it);
// a library without a build id is left out. At most eight.
void note_libraries(const attach::Target& target,
                    snapshot::Tables& tables,
                    snapshot::ProcessCapture& process);

// Adds what this node runs: "Linux" "6.1.0-18-amd64" (uname), "NVIDIA driver" "570.86.15"
// (/proc/driver/nvidia/version, for the loaded module).
void note_node(snapshot::Tables& tables, snapshot::ProcessCapture& process);

// Adds "mounts" "of its own" if the process is in another mount namespace than we are.
void note_mounts(snapshot::Tables& tables, snapshot::ProcessCapture& process);

// Returns "570.86.15" from that file's text; empty if it has another form.
std::string_view nvidia_version(std::string_view text);

}  // namespace oddrank::node
