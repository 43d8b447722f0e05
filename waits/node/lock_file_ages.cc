#include "waits/node/lock_file_ages.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attach/files/open_named.h"
#include "base/clock_us.h"
#include "base/isolated.h"
#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/span_words.h"
#include "base/split.h"
#include "waits/add_note.h"
#include "waits/mounts.h"
#include "waits/node/node_family.h"

namespace oddrank::waits {
namespace {

using snapshot::Capture;
using snapshot::ProcessCapture;
using snapshot::ThreadCapture;

constexpr std::int64_t kMicrosInSecond = 1'000'000;

std::int64_t now_us(clockid_t clock) {
  return static_cast<std::int64_t>(clock_us(clock));
}

// Returns the note for the file; "" if there is nothing to say.
std::string file_words(const ProcessCapture& process, const std::string& path) {
  const std::string folder = "/proc/" + std::to_string(process.pid);
  const auto mounts = read_file(folder + "/mountinfo", kMaxMountinfo);
  const auto mount = mounts ? mount_of(*mounts, path) : std::nullopt;
  if (!mount) {
    return {};
  }
  if (is_remote(*mount)) {
    return "on " + mount_words(*mount) + ", so its age was not read";
  }
  const auto files = attach::NamedFiles::of(process.pid);
  const auto status = files ? files->examine(path) : tl::unexpected<Error>(files.error());
  if (!status) {
    return {};
  }
  const std::int64_t made_us =
      status->st_mtim.tv_sec * kMicrosInSecond + status->st_mtim.tv_nsec / 1000;
  const std::int64_t began_us =
      now_us(CLOCK_REALTIME) - now_us(CLOCK_BOOTTIME) + static_cast<std::int64_t>(process.start_us);
  const std::int64_t age_us = std::max<std::int64_t>(0, now_us(CLOCK_REALTIME) - made_us);
  // File system clocks advance every few milliseconds.
  const bool before = process.start_us > 0 && made_us + kMicrosInSecond < began_us;
  return "made " + span_words(std::chrono::seconds(age_us / kMicrosInSecond)) + " ago" +
         (before ? ", before this process began" : "");
}

}  // namespace

void date_lock_files(Capture& capture, std::chrono::milliseconds patience) {
  const std::vector<WaitPlace> places = find_waits(capture, [&capture](const snapshot::Wait& wait) {
    return wait.how == snapshot::WaitHow::kLockFile &&
           capture.tables.text(wait.path).starts_with('/');
  });
  if (places.empty()) {
    return;
  }
  const auto look = [&](int fd) {
    for (std::size_t i = 0; i < places.size(); ++i) {
      const ProcessCapture& process = capture.processes[places[i].process];
      const ThreadCapture& thread = process.threads[places[i].thread];
      const std::string words =
          file_words(process, std::string(capture.tables.text(thread.wait.path)));
      send_bytes(fd, std::to_string(i) + " " + words + "\n");
    }
  };
  const IsolatedResult result = run_isolated({IsolatedTask{look, patience}}, 1).front();
  for (const std::string_view line : split(result.bytes, '\n')) {
    const auto blank = line.find(' ');
    const auto index = parse_number<std::size_t>(line.substr(0, blank));
    if (index && *index < places.size() && blank + 1 < line.size()) {
      const WaitPlace& place = places[*index];
      add_note(capture, capture.processes[place.process].threads[place.thread].wait,
               std::string(line.substr(blank + 1)));
    }
  }
}

}  // namespace oddrank::waits
