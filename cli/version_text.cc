#include "cli/version_text.h"

#include <link.h>

#include <cstddef>
#include <span>
#include <string_view>

#include "base/elf_notes.h"
#include "base/version.h"
#include "node/supported.h"

namespace oddrank::cli {
namespace {

// The commit that a release was built from; "" in other builds, which need not be of any. From
// CMake.
// NOLINTNEXTLINE(readability-redundant-string-init): "" in most builds only
constexpr std::string_view kCommit = ODDRANK_COMMIT;

// The first image that the loader lists is the program.
int take_build_id(dl_phdr_info* info, std::size_t /*size*/, void* found) {
  for (const ElfW(Phdr) & header : std::span(info->dlpi_phdr, info->dlpi_phnum)) {
    if (header.p_type == PT_NOTE && static_cast<std::string*>(found)->empty()) {
      // NOLINTNEXTLINE(performance-no-int-to-ptr): where the loader has mapped our own notes
      const auto* notes = reinterpret_cast<const std::byte*>(info->dlpi_addr + header.p_vaddr);
      *static_cast<std::string*>(found) =
          build_id_of_notes(std::span(notes, header.p_memsz), header.p_align);
    }
  }
  return 1;
}

}  // namespace

std::string version_text() {
  std::string text = std::string("oddrank ") + kVersion + "\n";
  if (!kCommit.empty()) {
    text += "commit " + std::string(kCommit) + "\n";
  }
  std::string build_id;
  ::dl_iterate_phdr(take_build_id, &build_id);
  if (!build_id.empty()) {
    text += "build id " + build_id + "\n";
  }
  text += "reads ";
  for (const char c : node::supported_versions()) {
    text += c == '\n' ? std::string("\n      ") : std::string(1, c);
  }
  return text.substr(0, text.find_last_not_of(" \n") + 1);
}

}  // namespace oddrank::cli
