// One core file of a Linux process of our machine: its notes, and the memory that it holds. For
// files that the process had mapped see core_target.h.
//
// The file is mapped, and only requested pages are touched: cores have tens of GB. Its bytes are
// hostile, and it may have been cut anywhere (a full disk, ulimit -c): the part that exists is
// returned, the rest is missing. Supports extended numbering (more than 65534 segments).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attach/core/core_notes.h"
#include "attach/files/open_as.h"
#include "base/mapped_file.h"
#include "base/result.h"

namespace oddrank::attach {

struct CoreSegment {  // PT_LOAD: one mapping of the process
  std::uint64_t start = 0;
  std::uint64_t end = 0;     // exclusive
  std::uint64_t offset = 0;  // of its first byte in the core
  // Bytes of it in the core; the core's writer left out the rest, mostly because it is in a file.
  std::uint64_t written = 0;
  bool readable = false;
  bool writable = false;
  bool executable = false;
};

class CoreFile {
 public:
  // kUnsupported: compressed (the hint says how to undo it), not a core, of a 32-bit process or of
  // another machine. kBadData: damaged, or cut before its notes. The text names the file.
  static Result<CoreFile> open(const std::string& path);

  const CoreNotes& notes() const { return notes_; }
  // Returns them by address; none overlaps another.
  const std::vector<CoreSegment>& segments() const { return segments_; }
  // Returns the segment that holds the address; nullptr if none does.
  const CoreSegment* find(std::uint64_t address) const;
  // Returns the bytes of the process at `address`, at most `size` and within one segment. Empty if
  // the core does not hold them.
  std::span<const std::byte> bytes_at(std::uint64_t address, std::uint64_t size) const;

  // Returns the rights of the core's owner, with which the files that it names are opened.
  const Rights& owner() const { return owner_; }
  // Returns when it was written, in seconds since the epoch.
  std::int64_t written() const { return written_; }

  // Return the size of the file, and the size of the complete file according to its headers.
  std::uint64_t size() const { return file_.span().size(); }
  std::uint64_t whole_size() const { return whole_size_; }
  bool truncated() const { return size() < whole_size_; }

 private:
  explicit CoreFile(MappedFile file) : file_(std::move(file)) {}

  Status load();
  // Returns at most `size` bytes of the file, fewer at its end.
  std::span<const std::byte> range(std::uint64_t offset, std::uint64_t size) const;

  MappedFile file_;
  CoreNotes notes_;
  std::vector<CoreSegment> segments_;
  std::uint64_t whole_size_ = 0;
  Rights owner_;
  std::int64_t written_ = 0;
};

}  // namespace oddrank::attach
