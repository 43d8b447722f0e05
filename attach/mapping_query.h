// Queries the kernel for single mappings of a live process: the ioctl PROCMAP_QUERY on
// /proc/PID/maps.
//
// The text of a rank's map has 1500 to 2000 lines, of which a stack needs a few: a query takes
// about half a microsecond, the text 2 to 3 ms. Queries need the same permission as the text and,
// like it, may block for a target in state D.
//
// Source: Linux 6.11 and later, include/uapi/linux/fs.h (struct procmap_query).
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <utility>

#include "attach/memory_map.h"
#include "attach/proc_root.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

class MappingQuery final : public MappingSource {
 public:
  // Fails with kUnsupported if the kernel does not have the ioctl.
  static Result<std::shared_ptr<MappingQuery>> open(pid_t pid);

  std::optional<Mapping> at(Addr address) const override;
  // Returns the first file mapping that ends after `address`; nullopt after the last one. Fails if
  // the kernel gives no answer, since a list made of these would have a gap.
  Result<std::optional<Mapping>> next_file(Addr address) const;

 private:
  MappingQuery(UniqueFd maps, RootPath root) : maps_(std::move(maps)), root_(std::move(root)) {}

  UniqueFd maps_;
  RootPath root_;
};

// Reads the map of a live process: by queries if the kernel has them, else from its text.
Result<MemoryMap> read_memory_map(pid_t pid);

}  // namespace oddrank::attach
