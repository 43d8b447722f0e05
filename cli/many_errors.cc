#include "cli/many_errors.h"

#include <algorithm>
#include <string>

#include "base/log.h"
#include "cli/output.h"

namespace oddrank::cli {
namespace {

constexpr std::size_t kMaxErrorsShown = 10;

}  // namespace

void ManyErrors::add(const Error& error) {
  worst_ =
      std::max(worst_, ++count_ <= kMaxErrorsShown ? report_error(error) : status_of(error.code));
}

ExitStatus ManyErrors::finish() const {
  if (count_ > kMaxErrorsShown) {
    log_line(LogLevel::kError,
             "and " + std::to_string(count_ - kMaxErrorsShown) + " more files could not be read");
  }
  return worst_;
}

}  // namespace oddrank::cli
