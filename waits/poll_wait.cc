#include "waits/poll_wait.h"

#include <poll.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/parse_number.h"
#include "base/split.h"
#include "waits/awaited_files.h"
#include "waits/fd_kind.h"

namespace oddrank::waits {
namespace {

using attach::Addr;

constexpr std::size_t kMaxPolledFds = 65536;  // whose numbers are read; the others are counted
constexpr std::size_t kMaxClassified = 64;  // files whose kind is read; a server may have thousands

// The files of a call. Beyond the limit they have no number, and may be ones that it ignores.
struct WatchedFiles {
  std::vector<int> fds;
  std::uint64_t further = 0;
  bool all = true;  // false: there are more, an unknown number
};

WatchedFiles polled_fds(const WaitContext& context) {
  const auto& arguments = context.thread.syscall->arguments;
  const auto count = std::min<std::uint64_t>(arguments[1], kMaxPolledFds);
  std::vector<pollfd> entries(count);
  const auto bytes = std::as_writable_bytes(std::span<pollfd>(entries));
  if (count == 0 || !context.target.read(Addr{arguments[0]}, bytes)) {
    return {};
  }
  WatchedFiles files;
  for (const pollfd& entry : entries) {
    if (entry.fd >= 0) {  // poll(2) ignores negative ones
      files.fds.push_back(entry.fd);
    }
  }
  files.further = arguments[1] - count;
  return files;
}

// The kernel overwrites the sets only when select returns, so they still hold the request.
WatchedFiles selected_fds(const WaitContext& context) {
  const auto& arguments = context.thread.syscall->arguments;
  const auto count = std::min<std::uint64_t>(arguments[0], kMaxPolledFds);
  std::vector<std::uint64_t> wanted((count + 63) / 64);
  std::vector<std::uint64_t> bits(wanted.size());
  for (std::size_t set = 1; set <= 3; ++set) {
    const auto bytes = std::as_writable_bytes(std::span(bits));
    if (arguments[set] == 0 || bits.empty() || !context.target.read(Addr{arguments[set]}, bytes)) {
      continue;
    }
    for (std::size_t i = 0; i < bits.size(); ++i) {
      wanted[i] |= bits[i];
    }
  }
  WatchedFiles files;
  for (std::size_t fd = 0; fd < count; ++fd) {
    if (((wanted[fd / 64] >> (fd % 64)) & 1U) != 0) {
      files.fds.push_back(static_cast<int>(fd));
    }
  }
  files.all = arguments[0] <= count;
  return files;
}

// /proc/PID/fdinfo of an epoll file has one line for each watched file: "tfd:  8 events:  1f data:
// ..." A text that was cut ends within a line.
WatchedFiles epolled_fds(std::string_view fdinfo) {
  WatchedFiles files;
  for (const std::string_view line : split(fdinfo, '\n')) {
    if (!line.starts_with("tfd:")) {
      continue;
    }
    const auto words = split_blanks(line);
    if (const auto fd = words.size() < 2 ? std::nullopt : parse_number<int>(words[1])) {
      files.fds.push_back(*fd);
    }
  }
  files.all = fdinfo.empty() || fdinfo.back() == '\n';
  return files;
}

WatchedFiles watched_files(const WaitContext& context, const SyscallInfo& info) {
  switch (info.kind) {
    case SyscallKind::kPoll:
      return polled_fds(context);
    case SyscallKind::kSelect:
      return selected_fds(context);
    default:
      return epolled_fds(
          context.files.info(static_cast<int>(context.thread.syscall->arguments[0])));
  }
}

// Counts the files, even if they could not be listed; unknown for select and epoll.
std::uint64_t asked_for(const WaitContext& context, const SyscallInfo& info) {
  return info.kind == SyscallKind::kPoll ? context.thread.syscall->arguments[1] : 0;
}

// Counters, timers and signals: a program uses them to wake itself, and does not wait for them.
bool is_own_waker(const std::string& link) {
  return link.starts_with("anon_inode:[eventfd]") || link.starts_with("anon_inode:[timerfd]") ||
         link.starts_with("anon_inode:[signalfd]");
}

// Sets the only file that others make ready. `has_wakers`: the program also waits for files with
// which its own threads wake it.
void set_only_file(int fd, const std::string& link, bool has_wakers, ThreadWait& wait) {
  const LinkKind kind = fd_kind(link, "");
  wait.on = kind.on;
  wait.fd = fd;
  wait.path = kind.path;
  wait.inferred = has_wakers;
  wait.awaited = {{wait.fd, wait.path}};
  wait.awaited_count = 1;
  wait.own_wakers = has_wakers;
}

}  // namespace

void read_poll_wait(const WaitContext& context, const SyscallInfo& info, ThreadWait& wait) {
  const auto& arguments = context.thread.syscall->arguments;
  if ((info.kind == SyscallKind::kSelect && arguments[0] == 0) ||
      (info.kind == SyscallKind::kPoll && arguments[1] == 0)) {
    wait.how = snapshot::WaitHow::kClock;
    wait.detail = "sleeps (" + wait.syscall_name + ")";
    return;
  }
  const auto [fds, further, all] = watched_files(context, info);
  wait.how = snapshot::WaitHow::kFiles;
  if (fds.empty()) {
    wait.awaited_count = asked_for(context, info);
    return;
  }
  std::vector<std::string> links;
  std::vector<std::size_t> awaited;  // indices of files that others make ready
  for (std::size_t i = 0; i < std::min(fds.size(), kMaxClassified); ++i) {
    links.push_back(context.files.link(fds[i]));
    if (!is_own_waker(links.back())) {
      awaited.push_back(i);
    }
  }
  const bool listed_all = all && further == 0;
  const bool one =
      listed_all && (fds.size() == 1 || (awaited.size() == 1 && fds.size() <= kMaxClassified));
  if (one) {
    const std::size_t which = fds.size() == 1 ? 0 : awaited.front();
    set_only_file(fds[which], links[which], fds.size() > 1, wait);
    return;
  }
  const snapshot::WaitOn on = fd_kind(links[awaited.empty() ? 0 : awaited.front()], "").on;
  const bool alike = std::all_of(awaited.begin(), awaited.end(), [&](const std::size_t each) {
    return fd_kind(links[each], "").on == on;
  });
  wait.on = alike ? on : wait.on;
  std::size_t own_wakers = links.size() - awaited.size();
  if (awaited.empty()) {  // then its own threads are all that can wake it
    awaited.resize(std::exchange(own_wakers, 0));
    std::iota(awaited.begin(), awaited.end(), std::size_t{0});
  }
  std::vector<NamedFile> listed;
  listed.reserve(awaited.size());
  for (const std::size_t each : awaited) {
    listed.push_back({fds[each], links[each]});
  }
  wait.awaited = std::move(listed);
  wait.awaited_count = fds.size() - own_wakers + further;
  wait.notes = all ? "" : "it waits for more files than these " + std::to_string(fds.size());
  wait.own_wakers = own_wakers > 0;
}

}  // namespace oddrank::waits
