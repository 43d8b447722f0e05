// The memory that unwinding one thread needs, with few reads of the target.
//
// The stack, from its pointer to the top of its mapping, comes in one bulk read, so that it is as
// close to one instant as possible without a stop; or from the copies made while the thread was
// stopped (stack_copy.h). Read-only segments of modules (unwind tables, code) come from the
// module's file. Everything else (such as the stack that a signal handler interrupted) is read page
// by page on demand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "attach/target.h"
#include "elf/module_map.h"
#include "unwind/stack_copy.h"

namespace oddrank::unwind {

inline constexpr std::size_t kWord = 8;  // bytes of a saved register, on both machines

class UnwindMemory {
 public:
  // Both must outlive the object.
  UnwindMemory(const attach::Target& target, elf::ModuleMap& modules)
      : target_(target), modules_(modules) {}

  // Forgets what may have changed, and copies the stack above `stack_pointer`.
  void start_thread(std::uint64_t stack_pointer);
  // Does the same with copies made before, which must outlive the work on this thread.
  void start_thread(const StackCopy& copy);

  // Returns the end of the stack that start_thread() copied; 0 if it could not be copied at once.
  std::uint64_t stack_end() const {
    return stacks_.empty() ? 0 : stacks_.front().address + stacks_.front().bytes.size();
  }
  // Returns whether this thread needed memory other than that stack and the files of modules.
  bool read_others() const { return read_others_; }

  // While set, reads are for unwind tables and what they point to. These do not change, so the
  // pages are kept for all threads, and do not count as other memory.
  void set_reading_tables(bool reading) { reading_tables_ = reading; }

  // Keeps bytes that are not the target's, and returns the address for reading them: in the
  // kernel's half, which no target can use.
  std::uint64_t hold(std::vector<std::byte> bytes);

  // Reads eight bytes, at any alignment; returns nullopt if they cannot be read.
  std::optional<std::uint64_t> word(std::uint64_t address);
  // Reads bytes; returns false, with `into` half filled, if they cannot be read.
  bool read(std::uint64_t address, std::span<std::byte> into);

 private:
  static constexpr std::size_t kPage = 4096;
  struct Bytes {
    std::uint64_t address = 0;
    std::span<const std::byte> bytes;
    bool copy_to(std::uint64_t from, std::span<std::byte> into) const;
  };

  bool read_file(std::uint64_t address, std::span<std::byte> into);
  bool read_pages(std::uint64_t address, std::span<std::byte> into);

  const attach::Target& target_;
  elf::ModuleMap& modules_;
  std::vector<std::byte> stack_bytes_;
  std::vector<Bytes> stacks_;
  std::vector<Bytes> segments_;  // of files, seen so far
  std::size_t last_segment_ = 0;
  bool read_others_ = false;
  bool reading_tables_ = false;
  std::vector<std::vector<std::byte>> held_;
  std::uint64_t next_held_ = 0xffff800000000000;
  using Pages = std::unordered_map<std::uint64_t, std::array<std::byte, kPage>>;
  Pages pages_;        // of this thread
  Pages table_pages_;  // of all threads
};

}  // namespace oddrank::unwind
