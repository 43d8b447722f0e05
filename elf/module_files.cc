#include "elf/module_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

namespace oddrank::elf {

std::string debug_file_path(std::string_view build_id) {
  // It comes from a file or a capture and becomes a path: allow only digits.
  const bool is_hex = std::all_of(build_id.begin(), build_id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  if (build_id.size() < 4 || build_id.size() % 2 != 0 || !is_hex) {
    return {};
  }
  return "/usr/lib/debug/.build-id/" + std::string(build_id.substr(0, 2)) + "/" +
         std::string(build_id.substr(2)) + ".debug";
}

Result<UniqueFd> open_debug_file(std::string_view build_id) {
  const std::string path = debug_file_path(build_id);
  if (path.empty()) {
    return fail(Errc::kNotFound, "no build id");
  }
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!fd.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  return fd;
}

}  // namespace oddrank::elf
