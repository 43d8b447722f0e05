#include "attach/files/open_mapped.h"

#include <string>

#include "attach/files/open_named.h"
#include "attach/files/open_path.h"
#include "base/hex.h"

namespace oddrank::attach {
namespace {

// Returns "/proc/7/map_files/7f00-7f10", with numbers as the kernel prints them there.
std::string map_file_path(pid_t pid, const Mapping& mapping) {
  return "/proc/" + std::to_string(pid) + "/map_files/" + hex_number(mapping.start) + "-" +
         hex_number(mapping.end);
}

}  // namespace

Result<UniqueFd> open_mapped(pid_t pid, const Mapping& mapping) {
  if (mapping.path.empty() || mapping.path.front() != '/') {
    return fail(Errc::kNotFound, "no file is behind the mapping " + mapping.path);
  }
  auto exact = open_regular(map_file_path(pid, mapping));
  if (exact || exact.error().code == Errc::kUnsupported) {
    return exact;
  }
  if (mapping.deleted) {
    return fail(Errc::kNotFound,
                mapping.path + " was deleted after pid " + std::to_string(pid) + " had loaded it",
                "root can read deleted files (`sudo oddrank ...`)");
  }
  ODDRANK_TRY(const NamedFiles files, NamedFiles::of(pid));
  return files.open(mapping.path, LastLink::kFollowed);
}

}  // namespace oddrank::attach
