// The few environment variables of a process that identify its job and rank, and configure its
// communication. All others are dropped at once: environments hold secrets.
#pragma once

#include <sys/types.h>

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace oddrank::attach {

class Environment {
 public:
  using Entry = std::pair<std::string, std::string>;

  Environment() = default;
  explicit Environment(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  // Returns "" if it is not set or empty (which means the same for all of them).
  std::string_view get(std::string_view name) const;
  bool has(std::string_view name) const { return !get(name).empty(); }
  // In the order of the process's own block.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

// Returns the names that are kept.
std::span<const std::string_view> kept_variables();

// Parses NUL-separated NAME=VALUE. If a name occurs twice, the first counts, as for getenv(3).
// Values are cut at 512 bytes; control characters become '?'.
Environment parse_proc_environ(std::string_view text);

// Reads the environment with which the process was started; later changes do not show. Takes the
// target's mmap lock: can block for a target in state D. Empty for a zombie.
Result<Environment> read_proc_environ(pid_t pid);

}  // namespace oddrank::attach
