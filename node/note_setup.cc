#include "node/note_setup.h"

#include <sys/utsname.h>

#include <set>
#include <string>
#include <string_view>

#include "base/base_name.h"
#include "base/read_file.h"
#include "base/split.h"
#include "elf/mapped_header.h"
#include "snapshot/libraries/known_libraries.h"
#include "snapshot/variable.h"

namespace oddrank::node {
namespace {

constexpr std::size_t kMaxLibraries = 8;
constexpr std::size_t kShownOfBuildId = 12;
constexpr std::size_t kMaxVersionFile = 4096;

}  // namespace

void note_libraries(const attach::Target& target,
                    snapshot::Tables& tables,
                    snapshot::ProcessCapture& process) {
  std::set<std::string_view> noted;
  for (const attach::Mapping& mapping : target.maps().listed()) {
    const std::string_view file = base_name(mapping.path);
    if (mapping.file_offset != 0 || noted.size() == kMaxLibraries || noted.contains(file) ||
        !snapshot::is_for_ranks(snapshot::library_of(mapping.path))) {
      continue;
    }
    const auto header = elf::read_mapped_header(target, mapping);
    if (header && !header->build_id.empty()) {
      noted.insert(file);
      snapshot::add_setup(tables, process, file,
                          "build " + header->build_id.substr(0, kShownOfBuildId));
    }
  }
}

std::string_view nvidia_version(std::string_view text) {
  // "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (...)"
  for (const std::string_view word : split_blanks(text.substr(0, text.find('\n')))) {
    if (word.find('.') != std::string_view::npos &&
        word.find_first_not_of("0123456789.") == std::string_view::npos) {
      return word;
    }
  }
  return {};
}

void note_mounts(snapshot::Tables& tables, snapshot::ProcessCapture& process) {
  const auto own = read_link("/proc/self/ns/mnt");
  const auto its = read_link("/proc/" + std::to_string(process.pid) + "/ns/mnt");
  if (own && its && *own != *its) {
    snapshot::add_setup(tables, process, snapshot::kMountsOfItsOwn, "of its own");
  }
}

void note_node(snapshot::Tables& tables, snapshot::ProcessCapture& process) {
  utsname system{};
  if (::uname(&system) == 0) {
    snapshot::add_setup(tables, process, "Linux", system.release);
  }
  const auto driver = read_file("/proc/driver/nvidia/version", kMaxVersionFile);
  if (driver && !nvidia_version(*driver).empty()) {
    snapshot::add_setup(tables, process, "NVIDIA driver", nvidia_version(*driver));
  }
}

}  // namespace oddrank::node
