// The memory of a process, as far as reading its stacks needed it, kept in a file: so that reading
// it again executes the same instructions on every machine.
//
// One file is kept, the program's, and only what names symbols: finding a Python needs it.
// Unwinding is done without files; the tables are then read from memory.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attach/target.h"

namespace oddrank::bench {

// Passes reads on to a process, and keeps the pages that they touch.
class RecordingTarget final : public attach::Target {
 public:
  // `target` must outlive it. `maps`: all mappings.
  RecordingTarget(const attach::Target& target, attach::MemoryMap maps)
      : target_(target), maps_(std::move(maps)) {}

  pid_t pid() const override { return target_.pid(); }
  const std::string& name() const override { return target_.name(); }
  Status read(attach::Addr address, std::span<std::byte> into) const override;
  void read_many(std::span<attach::ReadRequest> requests) const override;
  const attach::MemoryMap& maps() const override { return maps_; }
  Result<UniqueFd> open_file(const attach::Mapping& mapping) const override;
  Result<std::vector<attach::ThreadState>> threads() const override;
  Result<attach::ThreadState> thread(pid_t tid) const override;

  // Whether open_file opens the program.
  bool offers_program = false;

  // Returns the text of a file for RecordedTarget.
  std::string image() const;

 private:
  void keep(attach::Addr address, std::size_t size) const;

  const attach::Target& target_;
  attach::MemoryMap maps_;
  mutable std::map<std::uint64_t, std::string> pages_;  // by page number
  mutable std::vector<attach::ThreadState> threads_;
  mutable std::string program_;  // its file, pruned
};

class RecordedTarget final : public attach::Target {
 public:
  static Result<std::unique_ptr<RecordedTarget>> open(const std::string& path);

  pid_t pid() const override { return threads_.front().tid; }
  const std::string& name() const override { return threads_.front().name; }
  Status read(attach::Addr address, std::span<std::byte> into) const override;
  void read_many(std::span<attach::ReadRequest> requests) const override;
  const attach::MemoryMap& maps() const override { return maps_; }
  Result<UniqueFd> open_file(const attach::Mapping& mapping) const override;
  Result<std::vector<attach::ThreadState>> threads() const override { return threads_; }
  Result<attach::ThreadState> thread(pid_t tid) const override;

  bool offers_program = false;

 private:
  attach::MemoryMap maps_;
  std::string program_;
  std::map<std::uint64_t, std::string> pages_;
  std::vector<attach::ThreadState> threads_;
};

}  // namespace oddrank::bench
