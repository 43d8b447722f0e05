// Reads a live process with all available names, as the agent does, for tests that compare names.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "elf/module_files.h"
#include "snapshot/capture.h"
#include "stacks/collect_options.h"

namespace oddrank::test {

// Reads the stacks of all threads of a live process, without names.
Result<snapshot::Capture> read_process(pid_t pid, const stacks::CollectOptions& options = {});

// Reads until `is_so`, or for as long as a test waits (Victim::soon); returns the last reading.
Result<snapshot::Capture> read_until(pid_t pid,
                                     const std::function<bool(const snapshot::Capture&)>& is_so,
                                     const stacks::CollectOptions& options = {});

// Opens a file of a process by its path, as that process sees it: an elf::OpenModule.
Result<UniqueFd> open_as_seen(pid_t pid, const std::string& path);

// Returns short names of a stack's frames, innermost first; evaluation loops as "*".
std::vector<std::string> names_of(const snapshot::Capture& capture, const snapshot::Stack& stack);

// Returns an opener like the agent's (node/naming.cc), for that process alone. Keeps a
// reference.
elf::ModuleFiles files_of(const attach::Target& target);

// Reads the stacks of all threads, with names.
Result<snapshot::Capture> read_named(const attach::Target& target, const elf::ModuleFiles& files);

// Returns the main thread's frames in the last sample, innermost first.
std::vector<snapshot::Frame> main_frames(const snapshot::Capture& capture);
snapshot::StackEnd main_end(const snapshot::Capture& capture);

// Returns short names of the main thread's frames, innermost first; "" for a frame without one.
std::vector<std::string> main_names(const snapshot::Capture& capture);

// Returns whether `wanted` are among `names` in this order.
bool in_order(const std::vector<std::string>& names, const std::vector<std::string>& wanted);

// A target whose files are opened by their paths alone, in our mount namespace: as for a user that
// may not use /proc/PID/map_files, or a tool that confuses mount namespaces.
class ByPath final : public attach::Target {
 public:
  explicit ByPath(const attach::Target& target) : target_(target) {}

  pid_t pid() const override { return target_.pid(); }
  const std::string& name() const override { return target_.name(); }
  Status read(attach::Addr address, std::span<std::byte> into) const override {
    return target_.read(address, into);
  }
  void read_many(std::span<attach::ReadRequest> requests) const override {
    target_.read_many(requests);
  }
  const attach::MemoryMap& maps() const override { return target_.maps(); }
  Result<UniqueFd> open_file(const attach::Mapping& mapping) const override;
  Result<std::vector<attach::ThreadState>> threads() const override { return target_.threads(); }
  Result<attach::ThreadState> thread(pid_t tid) const override { return target_.thread(tid); }

 private:
  const attach::Target& target_;
};

}  // namespace oddrank::test
