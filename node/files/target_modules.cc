#include "node/files/target_modules.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>

#include "elf/mapped_symbols.h"
#include "elf/module_map.h"

namespace oddrank::node {
namespace {

Result<UniqueFd> memory_file(std::span<const std::byte> bytes) {
  UniqueFd fd(::memfd_create("oddrank_module", MFD_CLOEXEC));
  while (fd.valid() && !bytes.empty()) {
    const ssize_t written = ::write(fd.get(), bytes.data(), bytes.size());
    if (written <= 0) {
      return fail(errno_code(errno), "cannot keep a copy of a module: " + errno_text(errno));
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot make a file in memory: " + errno_text(errno));
  }
  return fd;
}

auto not_mapped(const attach::Target& target, const std::string& path) {
  return fail(Errc::kNotFound, "pid " + std::to_string(target.pid()) + " does not map " + path);
}

}  // namespace

Result<UniqueFd> open_module(const attach::Target& target, const std::string& path) {
  if (path == "[vdso]") {
    return open_module_memory(target, path);
  }
  const auto& mappings = target.maps().listed();
  const auto mapping =
      std::find_if(mappings.begin(), mappings.end(),
                   [&path](const attach::Mapping& candidate) { return candidate.path == path; });
  return mapping == mappings.end() ? not_mapped(target, path) : target.open_file(*mapping);
}

Result<UniqueFd> open_module_memory(const attach::Target& target, const std::string& path) {
  const elf::ModuleMap modules(target);
  for (const elf::Module& module : modules.modules()) {
    if (module.path == path) {
      ODDRANK_TRY(const auto bytes, elf::copy_mapped_symbols(target, module));
      return memory_file(bytes);
    }
  }
  return not_mapped(target, path);
}

}  // namespace oddrank::node
