// Names the native frames of a capture, after the targets were released: one pass over each file
// for all processes of the node.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "elf/elf_image.h"
#include "elf/module_files.h"
#include "elf/native_addresses.h"
#include "snapshot/capture.h"

namespace oddrank::elf {

using AddressNames = std::map<std::uint64_t, std::string>;
using TakeNames = std::function<void(const ModuleKey& module, const AddressNames& names)>;

// A search for variables in the modules' own files, in the same pass over their symbols.
struct SearchBeside {
  // Returns what to search for in this file of a module; nullopt if nothing.
  std::function<std::optional<VariableSearch>(std::string_view path, const ElfImage& file)> wanted;
  // Takes what was found, before the names of the module.
  std::function<void(const ElfImage& file, const VariableSearch& done)> take;
};

// Finds the symbol of every native frame that has a module: in the module's own tables, in its
// separate debug file, or in its tables in memory. Calls `take` with the names of each module as
// soon as they are found. Ignores a file whose build id differs from the frame's. Each file is read
// once, whatever its path and however many processes have it. Never fails: a frame without a name
// stays module+offset. May block if a file system does: call it in a child with a deadline
// (base/isolated.h).
void find_names(const snapshot::Capture& capture,
                const ModuleFiles& files,
                const TakeNames& take,
                const SearchBeside& beside = {});
// Gives the frames these names, and joins frames and stacks that become equal.
void give_names(snapshot::Capture& capture, const std::map<ModuleKey, AddressNames>& names);

}  // namespace oddrank::elf
