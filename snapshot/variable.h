// Looks up the kept environment variables of a process, and notes what else it runs with.
#pragma once

#include <optional>
#include <string_view>

#include "snapshot/process_capture.h"
#include "snapshot/tables.h"

namespace oddrank::snapshot {

// The name of a setup entry of a process with mounts of its own, as in a container: its paths
// differ from the machine's.
inline constexpr std::string_view kMountsOfItsOwn = "mounts";

// Returns the value; nullopt if it is not set, or was not kept. Valid as long as the tables.
inline std::optional<std::string_view> variable_of(const Tables& tables,
                                                   const ProcessCapture& process,
                                                   std::string_view name) {
  for (const auto& [key, value] : process.environment) {
    if (tables.text(key) == name) {
      return tables.text(value);
    }
  }
  return std::nullopt;
}

// Adds what the process runs with; the same name again replaces the value.
inline void add_setup(Tables& tables,
                      ProcessCapture& process,
                      std::string_view name,
                      std::string_view value) {
  const StringId key = tables.string(name);
  for (auto& [known, text] : process.setup) {
    if (known == key) {
      text = tables.string(value);
      return;
    }
  }
  process.setup.emplace_back(key, tables.string(value));
}

}  // namespace oddrank::snapshot
