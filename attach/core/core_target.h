// The process of a core file, as if it were alive: memory, mappings, files and threads.
//
// Memory comes from the core; parts that its writer omitted because they are in a file (code and
// constants of libraries) come from that file, if it is the same build (core_modules.h). Threads
// are as when the core was written: a thread in a system call has state S, with that call and its
// arguments; any other has state R. All registers are known. Nothing moves.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "attach/core/core_file.h"
#include "attach/core/core_modules.h"
#include "attach/target.h"
#include "base/result.h"

namespace oddrank::attach {

class CoreTarget final : public Target {
 public:
  // `sysroot`: a folder that is searched for the process's files first, by their whole path or by
  // name alone; "" for none. Errors as in CoreFile::open.
  static Result<std::unique_ptr<CoreTarget>> open(const std::string& path,
                                                  const std::string& sysroot = {});

  // Returns the number that the core's writer saw; for a process in a container, its number in the
  // container.
  pid_t pid() const override { return pid_; }
  const std::string& name() const override { return name_; }

  Status read(Addr address, std::span<std::byte> into) const override;
  void read_many(std::span<ReadRequest> requests) const override;
  const MemoryMap& maps() const override { return maps_; }
  // Fails with kNotFound, or with kBadData if the file is not the one that was mapped.
  Result<UniqueFd> open_file(const Mapping& mapping) const override;
  // Opens a file that a mapped file names, as CoreModules::open_named does.
  Result<UniqueFd> open_named(const std::string& path) const { return modules_.open_named(path); }
  Result<std::vector<ThreadState>> threads() const override { return threads_; }
  Result<ThreadState> thread(pid_t tid) const override;
  std::optional<std::uint64_t> blocked_signals(pid_t tid) const override;

  const CoreFile& core() const { return core_; }
  // Returns the program's file, as the process had it mapped; "" if unknown.
  std::string executable() const;
  // Returns the programs and libraries that were needed so far and could not be read.
  std::vector<MissingFile> missing_files() const { return modules_.missing(); }

 private:
  CoreTarget(CoreFile core, const std::string& sysroot, std::int64_t written);

  void make_maps();
  void add_file_mappings(const CoreMappedFile& file, std::size_t index);
  void name_mappings();
  void make_threads();
  // Returns how many bytes from `address` on could be copied.
  std::size_t copy_out(std::uint64_t address, std::span<std::byte> into) const;
  std::span<const std::byte> file_bytes_at(std::uint64_t address) const;

  CoreFile core_;
  CoreModules modules_;
  pid_t pid_ = 0;
  std::string name_;
  std::vector<Mapping> found_;  // until they become maps_
  MemoryMap maps_;
  std::vector<ThreadState> threads_;
};

}  // namespace oddrank::attach
