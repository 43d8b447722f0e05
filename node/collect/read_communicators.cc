#include "node/collect/read_communicators.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "base/base_name.h"
#include "collectives/nccl/nccl_layout.h"
#include "collectives/nccl/nccl_memory.h"
#include "elf/module_map.h"

namespace oddrank::node {
namespace {

using attach::Addr;
using attach::Target;
using collectives::NcclVariables;

constexpr int kFirstWithList = 22400;

// Returns "2.28.9" from "NCCL version 2.28.9+cuda12.9", which NCCL writes to its log; "" if it is
// missing.
std::string version_in(std::string_view constants) {
  constexpr std::string_view kBefore = "NCCL version ";
  constexpr std::string_view kBehind("+ \0", 3);
  constexpr std::size_t kMaxVersion = 40;
  for (auto at = constants.find(kBefore); at != std::string_view::npos;
       at = constants.find(kBefore, at + 1)) {
    const std::string_view rest = constants.substr(at + kBefore.size(), kMaxVersion);
    const auto end = rest.find_first_of(kBehind);
    if (end != std::string_view::npos && end > 0 && rest.front() >= '0' && rest.front() <= '9') {
      return std::string(rest.substr(0, end));
    }
  }
  return {};
}

std::string_view constants_of(const elf::ElfImage& image) {
  constexpr std::uint64_t kMaxConstants = std::uint64_t{8} << 20;  // it has 200 KiB
  const auto section = image.section(".rodata");
  const auto bytes = section
                         ? image.bytes_at(section->address, std::min(section->size, kMaxConstants))
                         : std::span<const std::byte>{};
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const elf::Module* find_library(const elf::ModuleMap& modules) {
  for (const elf::Module& module : modules.modules()) {
    if (base_name(module.path).starts_with("libnccl.so")) {
      return &module;
    }
  }
  return nullptr;
}

}  // namespace

Result<NcclVariables> find_nccl_variables(const Target& target) {
  elf::ModuleMap modules(target);
  const elf::Module* library = find_library(modules);
  if (library == nullptr) {
    return fail(Errc::kNotFound, "it has no libnccl.so");
  }
  ODDRANK_TRY(const elf::ElfImage* image, modules.image_of(*library));
  ODDRANK_TRY(const std::uint64_t bias, modules.load_bias(*library));
  NcclVariables found;
  found.version = version_in(constants_of(*image));
  if (found.version.empty()) {
    return fail(Errc::kUnsupported, "libnccl.so does not say its version");
  }
  // Static variables of a file are mangled by some compilers only.
  const auto address_of = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) {
      if (const auto symbol = image->symbol(name)) {
        return Addr{bias} + symbol->address;
      }
    }
    return Addr{};
  };
  found.list = address_of({"ncclComms"});
  found.entries = address_of({"nNcclComms"});
  found.last_proxy = address_of({"_ZL18ncclLastProxyState", "ncclLastProxyState"});
  if (const auto root = image->symbol("_ZL13bootstrapRootPv")) {
    found.root = Addr{bias} + root->address;
    found.root_size = root->size;
  }
  found.ib_devices = address_of({"ncclIbMergedDevs"});
  found.socket_devices = address_of({"ncclNetSocketDevs", "_ZL17ncclNetSocketDevs"});
  return found;
}

Result<collectives::RasAnswer> read_communicators(const Target& target,
                                                  const NcclVariables& variables) {
  if (variables.list != Addr{} && variables.entries != Addr{}) {
    return collectives::read_nccl_list(target, variables);
  }
  const int version = collectives::nccl_version_code(variables.version);
  return version != 0 && version < kFirstWithList
             ? fail(Errc::kNotFound,
                    "NCCL " + variables.version + " keeps no list of communicators")
             : fail(Errc::kUnsupported, "libnccl.so of NCCL " + variables.version +
                                            " has no symbols of its own: its list of "
                                            "communicators is not found");
}

}  // namespace oddrank::node
