// Names the native frames of a capture in one process, without a deadline.
#pragma once

#include <map>

#include "elf/symbolize.h"

namespace oddrank::elf {

inline void name_frames(snapshot::Capture& capture, const ModuleFiles& files) {
  std::map<ModuleKey, AddressNames> all;
  find_names(capture, files,
             [&all](const ModuleKey& key, const AddressNames& names) { all[key] = names; });
  give_names(capture, all);
}

// With the modules' own files and this node's debug files.
inline void name_frames(snapshot::Capture& capture, const OpenModule& open) {
  name_frames(capture, ModuleFiles{open, {}, {}});
}

}  // namespace oddrank::elf
