#include "waits/node/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>

#include "base/ascii.h"
#include "base/deadline.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "base/unique_fd.h"

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxRecord = 8192;  // the kernel's own limit, CONSOLE_EXT_LOG_MAX
constexpr std::size_t kMaxKills = 4096;
constexpr std::size_t kMaxServerWords = 4096;

}  // namespace

std::optional<MemoryKill> parse_memory_kill(std::string_view record) {
  constexpr std::string_view kWords =
      "ut of memory: Killed process ";  // also "Memory cgroup out of"
  const auto head_end = record.find(';');
  const auto found = record.find(kWords);
  if (head_end == std::string_view::npos || found == std::string_view::npos || found < head_end) {
    return std::nullopt;
  }
  const auto head = split(record.substr(0, head_end), ',');
  const std::string_view rest = record.substr(found + kWords.size());
  const auto open = rest.find(" (");
  const auto close = open == std::string_view::npos ? open : rest.find(')', open);
  const auto at = head.size() > 2 ? parse_number<std::uint64_t>(head[2]) : std::nullopt;
  const auto pid =
      open == std::string_view::npos ? std::nullopt : parse_number<pid_t>(rest.substr(0, open));
  if (!at || !pid || *pid <= 0 || close == std::string_view::npos) {
    return std::nullopt;
  }
  std::string name(rest.substr(open + 2, std::min<std::size_t>(close - open - 2, 64)));
  std::replace_if(name.begin(), name.end(), std::not_fn(is_printable_ascii), '?');
  return MemoryKill{*pid, std::move(name), *at};
}

KernelWords read_kernel_words(std::chrono::milliseconds patience) {
  KernelWords words;
  const UniqueFd log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  const Deadline end = Deadline::after(patience);
  std::array<char, kMaxRecord> bytes{};
  while (log.valid() && !end.passed()) {
    const auto size = ::read(log.get(), bytes.data(), bytes.size());
    if (size < 0 && (errno == EPIPE || errno == EINTR)) {
      continue;  // EPIPE: the record was overwritten, the next read returns the oldest one left
    }
    if (size <= 0) {
      break;
    }
    const std::string_view record(bytes.data(), static_cast<std::size_t>(size));
    if (auto kill = parse_memory_kill(record)) {
      words.kills.push_back(*std::move(kill));
      if (words.kills.size() > kMaxKills) {
        words.kills.erase(words.kills.begin());
      }
    } else if (auto word = parse_server_word(record);
               word && words.servers.size() < kMaxServerWords) {
      words.servers.push_back(*std::move(word));
    }
  }
  return words;
}

}  // namespace oddrank::waits
