#include "node/log_growth.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <utility>

#include "attach/files/open_named.h"
#include "attach/files/open_path.h"
#include "watch/watch.h"

namespace oddrank::node {
namespace {

constexpr std::uint64_t kMaxRead = std::uint64_t{1} << 20;

struct Log {
  const LogPlace* place = nullptr;
  std::uint64_t size = 0;
};

std::string path_of(const LogPlace& place) {
  return place.pid > 0 ? "/proc/" + std::to_string(place.pid) + "/fd/" + std::to_string(place.fd)
                       : place.path;
}

std::vector<Log> logs_at(const std::vector<LogPlace>& places) {
  std::vector<Log> logs;
  std::set<std::pair<dev_t, ino_t>> known;
  for (const LogPlace& place : places) {
    struct stat facts {};
    if (::stat(path_of(place).c_str(), &facts) == 0 && S_ISREG(facts.st_mode) &&
        known.emplace(facts.st_dev, facts.st_ino).second) {
      logs.push_back({&place, static_cast<std::uint64_t>(facts.st_size)});
    }
  }
  return logs;
}

// Searches the first MiB of the last `count` bytes of the log.
bool has_watchers_words(const Log& log, std::uint64_t count) {
  const LogPlace& place = *log.place;
  const auto file = place.pid > 0 ? attach::open_descriptor(place.pid, place.fd)
                                  : attach::open_found_file(place.path);
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

LogSample sample_logs(const std::vector<LogPlace>& places, std::uint64_t bytes_before) {
  LogSample sample;
  const std::vector<Log> logs = logs_at(places);
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
