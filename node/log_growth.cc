#include "node/log_growth.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attach/open_regular.h"
#include "watch/watch.h"

namespace oddrank::node {
namespace {

constexpr std::uint64_t kMaxRead = std::uint64_t{1} << 20;

struct Log {
  std::string path;
  std::uint64_t size = 0;
};

std::vector<Log> logs_at(const std::vector<std::string>& paths) {
  std::vector<Log> logs;
  std::set<std::pair<dev_t, ino_t>> known;
  for (const std::string& path : paths) {
    struct stat facts {};
    if (::stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
        known.emplace(facts.st_dev, facts.st_ino).second) {
      logs.push_back({path, static_cast<std::uint64_t>(facts.st_size)});
    }
  }
  return logs;
}

// Searches the first MiB of the last `count` bytes of the log.
bool has_watchers_words(const Log& log, std::uint64_t count) {
  const auto file = attach::open_regular(log.path);
  if (!file) {
    return false;
  }
  const std::uint64_t from = log.size - std::min(log.size, count);
  std::string text(std::min(count, kMaxRead), '\0');
  const ssize_t got = ::pread(file->get(), text.data(), text.size(), static_cast<off_t>(from));
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text.find(watch::kWatcherWords) != std::string::npos;
}

}  // namespace

LogSample sample_logs(const std::vector<std::string>& paths, std::uint64_t bytes_before) {
  LogSample sample;
  const std::vector<Log> logs = logs_at(paths);
  for (const Log& log : logs) {
    sample.bytes += log.size;
  }
  if (sample.bytes > bytes_before) {
    const std::uint64_t growth = sample.bytes - bytes_before;
    sample.by_watcher = std::any_of(logs.begin(), logs.end(), [growth](const Log& log) {
      return has_watchers_words(log, growth);
    });
  }
  return sample;
}

}  // namespace oddrank::node
