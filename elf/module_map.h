// The ELF files mapped into a target: which module an address belongs to, and its load bias.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "attach/target.h"
#include "base/result.h"
#include "elf/elf_image.h"
#include "elf/mapped_header.h"

namespace oddrank::elf {

// Maximum bytes read of the vdso, which is only in memory and has two or three pages.
inline constexpr std::uint64_t kMaxVdso = std::uint64_t{1} << 20;

struct Module {
  std::string path;                          // as the target's maps name it
  std::uint64_t start = 0;                   // lowest mapped address
  std::uint64_t end = 0;                     // end of the highest
  const attach::Mapping* mapping = nullptr;  // the first one; lives as long as the target
  // All mappings, by address. Segments are usually adjacent, but other memory may lie between them.
  std::vector<const attach::Mapping*> mappings;
};

// A module is a file (path, device, inode) with an executable mapping, or the vdso. A file that is
// mapped twice is two modules.
//
// Opens a file when it is first needed, and once. If its build id differs from the one in the
// target's memory, image_of fails with kBadData. Lifetime: keeps a reference to the target.
class ModuleMap {
 public:
  explicit ModuleMap(const attach::Target& target);
  ~ModuleMap();
  ModuleMap(const ModuleMap&) = delete;
  ModuleMap& operator=(const ModuleMap&) = delete;
  ModuleMap(ModuleMap&&) = delete;
  ModuleMap& operator=(ModuleMap&&) = delete;

  const std::vector<Module>& modules() const;
  // Finds the module with a mapping at that address; nullptr for anonymous memory.
  const Module* find(std::uint64_t address) const;

  // Returns the ELF image of the module. A failure is cached, not retried.
  Result<const ElfImage*> image_of(const Module& module);
  // Returns the offset from an address of the file to the target's. Needs the image.
  Result<std::uint64_t> load_bias(const Module& module);

  // Reads the module's header in the target's memory; fails with kNotFound if file offset 0 is not
  // mapped.
  Result<const MappedHeader*> mapped_header(const Module& module);
  // Returns the build id from memory if that can be read, else from the file; empty if unknown.
  std::string build_id(const Module& module);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace oddrank::elf
