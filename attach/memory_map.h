// The mappings of a target, sorted by address: which address belongs to which file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attach/address.h"

namespace oddrank::attach {

struct Mapping {
  std::uint64_t start = 0;
  std::uint64_t end = 0;  // exclusive
  std::uint64_t file_offset = 0;
  std::uint64_t inode = 0;   // 0: anonymous
  std::uint32_t device = 0;  // major << 20 | minor, as /proc/PID/maps prints them
  bool readable = false;
  bool writable = false;
  bool executable = false;
  bool shared = false;
  // As the target sees it: "/usr/lib/libc.so.6", "[vdso]", "[stack]", "" for anonymous memory. A
  // deleted file keeps its name without " (deleted)"; see `deleted`.
  std::string path;
  bool deleted = false;
};

class MemoryMap {
 public:
  MemoryMap() = default;
  // Sorts; overlapping or empty mappings (a target's maps read while they change) are dropped.
  explicit MemoryMap(std::vector<Mapping> mappings);

  // The mapping that holds the address; nullptr if none does.
  const Mapping* find(Addr address) const;
  const std::vector<Mapping>& all() const { return mappings_; }

 private:
  std::vector<Mapping> mappings_;
};

}  // namespace oddrank::attach
