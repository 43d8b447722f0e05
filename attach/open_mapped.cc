#include "attach/open_mapped.h"

#include <string>

#include "attach/open_regular.h"
#include "base/hex.h"
#include "base/read_file.h"

namespace oddrank::attach {
namespace {

// Returns "/proc/7/map_files/7f00-7f10", with numbers as the kernel prints them there.
std::string map_file_path(pid_t pid, const Mapping& mapping) {
  return "/proc/" + std::to_string(pid) + "/map_files/" + hex_number(mapping.start) + "-" +
         hex_number(mapping.end);
}

bool same_mount_namespace(pid_t pid) {
  const auto ours = read_link("/proc/self/ns/mnt");
  const auto its = read_link("/proc/" + std::to_string(pid) + "/ns/mnt");
  return ours && its && *ours == *its;
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
  auto below_root = open_regular_below("/proc/" + std::to_string(pid) + "/root", mapping.path);
  if (below_root || below_root.error().code == Errc::kUnsupported || !same_mount_namespace(pid)) {
    return below_root;
  }
  return open_regular(mapping.path);
}

}  // namespace oddrank::attach
