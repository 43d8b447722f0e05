#include "cli/shipped_copy.h"

#include <unistd.h>

#include "base/log.h"
#include "base/read_file.h"

namespace oddrank::cli {

void delete_shipped_copy(const std::string& path) {
  if (path.empty()) {
    return;
  }
  const auto running = read_link("/proc/self/exe");
  if (!running || *running != path || ::unlink(path.c_str()) != 0) {
    log_line(LogLevel::kWarning, "could not delete the copy " + path);
  }
}

}  // namespace oddrank::cli
