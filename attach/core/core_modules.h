// The files that the process of a core file had mapped, where they can be found and believed.
//
// A core holds little of a library but its first page, so its code has to come from the file. But
// which file lies under that name now? The core's first page of it decides: the build id that it
// points to must be that of the file, or, where the core holds no build id, the page itself must be
// the same. A file of which the core holds no page at all is believed only if it is older than the
// core and was not deleted already then.
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
  // `core` must outlive the object. `sysroot`: a folder below which the files are looked for first;
  // "" for none. `written`: when the core was written, in seconds since the epoch.
  CoreModules(const CoreFile& core, std::string sysroot, std::int64_t written);

  // Every file of the core once, in the order of their addresses.
  const std::vector<std::string>& paths() const { return paths_; }

  // Each `file` is an index into paths().
  // The file for reading, if it can be believed; the fd is the caller's.
  Result<UniqueFd> open(std::size_t file) const;
  // Its bytes from `offset` on; empty if they are not there, or not believed, or of no program or
  // library: what a data file held then, nobody knows.
  std::span<const std::byte> bytes_at(std::size_t file, std::uint64_t offset) const;
  // Its loadable segments, by the core's own copy of its headers or the file's; empty if neither.
  std::vector<FilePart> parts(std::size_t file) const;

  // Programs and libraries that were asked for and could not be had, so far; sorted by path.
  std::vector<MissingFile> missing() const;

 private:
  struct Known {
    std::uint64_t header_at = 0;  // where its offset 0 was mapped
    bool has_header = false;
    bool deleted = false;
    std::size_t mappings = 0;
    bool is_code = false;  // a program or library, as far as the core tells
    bool is_data = false;  // certainly none
    // Looked for at the first request.
    bool tried = false;
    UniqueFd fd;
    MappedFile bytes;
    std::optional<Error> trouble;
  };

  std::span<const std::byte> header_of(const Known& known) const;
  const Known& find(std::size_t file) const;
  Status look_at(const std::string& path, bool below_sysroot, Known& known) const;
  Status compare(const MappedFile& bytes, const Known& known, std::int64_t changed) const;

  const CoreFile& core_;
  std::string sysroot_;
  std::int64_t written_;
  std::vector<std::string> paths_;
  mutable std::vector<Known> known_;  // beside paths_
};

}  // namespace oddrank::attach
