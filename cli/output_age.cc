#include "cli/output_age.h"

#include <sys/stat.h>

#include <chrono>
#include <ctime>

#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/span_words.h"

namespace oddrank::cli {
namespace {

constexpr std::chrono::milliseconds kPatience{1000};
// A job that prints once a step is silent for as long as a step takes.
constexpr std::int64_t kMinAge = 60;

}  // namespace

std::string output_age_note(const std::string& path) {
  if (path.empty()) {
    return {};
  }
  const IsolatedTask task{[&path](int fd) {
                            struct stat file {};
                            if (::stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode)) {
                              send_bytes(fd, std::to_string(std::time(nullptr) - file.st_mtime));
                            }
                          },
                          kPatience};
  const auto age = parse_number<std::int64_t>(run_isolated({task}, 1).front().bytes);
  if (!age || *age < kMinAge) {
    return {};
  }
  return "the job's output " + path + " has had no new line for " +
         span_words(std::chrono::seconds(*age));
}

}  // namespace oddrank::cli
