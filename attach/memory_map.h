// The mappings of a target, sorted by address: finds the file of an address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
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
  // The path as the target sees it: "/usr/lib/libc.so.6", "[vdso]", "[stack]", "" for anonymous
  // memory. A deleted file keeps its name without " (deleted)"; see `deleted`.
  std::string path;
  bool deleted = false;
};

// A source of unlisted mappings.
class MappingSource {
 public:
  virtual ~MappingSource() = default;
  // Returns the mapping that holds the address now.
  virtual std::optional<Mapping> at(Addr address) const = 0;
};

class MemoryMap {
 public:
  MemoryMap() = default;
  // Sorts the mappings, and drops overlapping or empty ones (a target's maps read while they
  // change). `others` (may be null) finds unlisted mappings, and is queried at most once for each.
  explicit MemoryMap(std::vector<Mapping> mappings,
                     std::shared_ptr<const MappingSource> others = nullptr);

  // Returns the mapping that holds the address; nullptr if none does. Valid as long as the map is.
  const Mapping* find(Addr address) const;
  // Returns the same without a query, among the listed mappings.
  const Mapping* find_listed(Addr address) const;
  // Returns the mappings that are known without a query, sorted: at least all mapped files, the
  // vdso and the main thread's stack; all mappings if the map has no source.
  const std::vector<Mapping>& listed() const { return mappings_; }

 private:
  const Mapping* ask(Addr address) const;

  std::vector<Mapping> mappings_;
  std::shared_ptr<const MappingSource> others_;
  mutable std::map<std::uint64_t, Mapping> asked_;  // by start
};

}  // namespace oddrank::attach
