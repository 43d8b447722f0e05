// The files that the process of a core file had mapped, as far as they can be found and trusted.
//
// A core holds little of a library beyond its first page, so its code must come from the file.
// Another file may have that name now. The first page in the core decides: the build id that it
// points to must be the file's, or, if the core holds no build id, the page itself must be the
// same. If the core holds no page of a file, the file is trusted only if it is older than the core
// and was not deleted by then.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "attach/core/core_file.h"
#include "base/mapped_file.h"
#include "base/result.h"
#include "base/unique_fd.h"

namespace oddrank::attach {

// A part of a file as its program headers describe it.
struct FilePart {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  bool writable = false;
  bool executable = false;
};

struct MissingFile {
  std::string path;
  std::string why;  // "no such file or directory", "another build of it is there"
};

class CoreModules {
 public:
  // `core` must outlive the object. `sysroot`: a folder that is searched for the files first; ""
  // for none. `written`: when the core was written, in seconds since the epoch.
  CoreModules(const CoreFile& core, std::string sysroot, std::int64_t written);

  // Returns every file of the core once, in the order of their addresses.
  const std::vector<std::string>& paths() const { return paths_; }

  // Each `file` is an index into paths(). Opens the file for reading if it can be trusted; the
  // caller owns the fd.
  Result<UniqueFd> open(std::size_t file) const;
  // Opens a file that another one names (a source file): below the sysroot, or else where it was
  // compiled. The core cannot verify it, so it must not be newer than the core.
  Result<UniqueFd> open_named(const std::string& path) const;
  // Returns its bytes from `offset` on; empty if they do not exist, are not trusted, or belong to a
  // data file, whose contents at that time are unknown.
  std::span<const std::byte> bytes_at(std::size_t file, std::uint64_t offset) const;
  // Returns its loadable segments, from the core's copy of its headers or the file's; empty if
  // there are neither.
  std::vector<FilePart> parts(std::size_t file) const;

  // Returns the programs and libraries that were needed so far and could not be read, by path.
  std::vector<MissingFile> missing() const;

 private:
  struct Known {
    std::uint64_t header_at = 0;  // where its offset 0 was mapped
    bool has_header = false;
    bool deleted = false;
    std::size_t mappings = 0;
    bool is_code = false;  // a program or library, as far as the core shows
    bool is_data = false;  // certainly neither
    // True after the first request, which searches for the file.
    bool tried = false;
    UniqueFd fd;
    MappedFile bytes;
    std::optional<Error> trouble;
  };

  std::span<const std::byte> header_of(const Known& known) const;
  const Known& find(std::size_t file) const;
  Result<UniqueFd> open_at(const std::string& path, bool below_sysroot) const;
  Status look_at(const std::string& path, bool below_sysroot, Known& known) const;
  Status compare(const MappedFile& bytes, const Known& known, std::int64_t changed) const;

  const CoreFile& core_;
  std::string sysroot_;
  std::int64_t written_;
  std::vector<std::string> paths_;
  mutable std::vector<Known> known_;  // beside paths_
};

}  // namespace oddrank::attach
