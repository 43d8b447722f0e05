#include "aggregate/words/advised_path.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/printable.h"
#include "base/shell_words.h"
#include "snapshot/jobs/jobs.h"
#include "snapshot/variable.h"

namespace oddrank::aggregate {

std::string advised_path(const JobView& view,
                         const snapshot::ProcessCapture& process,
                         std::string_view path) {
  const bool own = std::ranges::any_of(process.setup, [&view](const auto& each) {
    return view.text(each.first) == snapshot::kMountsOfItsOwn;
  });
  const std::string shown = printable(path);
  return shell_quoted(
      own && shown.starts_with('/') ? fmt::format("/proc/{}/root{}", process.pid, shown) : shown);
}

std::string as_its_user(const JobView& view, const snapshot::ProcessCapture& process) {
  if (const auto user = snapshot::user_in_key(view.text(process.job_key)); !user.empty()) {
    return fmt::format("sudo -u '#{}' ", printable(user));
  }
  const std::string user = printable(view.capture().job.user);
  return user.empty() ? "as the rank's user, not as root: "
                      : fmt::format("sudo -u {} ", shell_quoted(user));
}

}  // namespace oddrank::aggregate
