#include "waits/node/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <functional>
#include <set>
#include <utility>

#include "base/ascii.h"
#include "base/deadline.h"
#include "base/few_notes.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "base/unique_fd.h"

namespace oddrank::waits {
namespace {

constexpr std::size_t kMaxRecord = 8192;   // the kernel's own limit, CONSOLE_EXT_LOG_MAX
constexpr std::size_t kMaxRecords = 4096;  // of each kind

// Keeps the newest ones.
template <typename Row>
void add_newest(Row row, std::vector<Row>& rows) {
  rows.push_back(std::move(row));
  if (rows.size() > kMaxRecords) {
    rows.erase(rows.begin());
  }
}

// Calls take(row, "41 s ago (kernel log)") for the rows since `begun_us`, the newest first.
template <typename Row, typename Take>
void each_newest(const std::vector<Row>& rows,
                 std::uint64_t begun_us,
                 std::uint64_t now_us,
                 const Take& take) {
  constexpr std::uint64_t kSecondUs = 1'000'000;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    if (row->at_us + kSecondUs >= begun_us) {  // the times are from two kernel clocks
      const std::uint64_t ago_us = now_us - std::min(now_us, row->at_us);
      take(*row, std::to_string(ago_us / kSecondUs) + " s ago (kernel log)");
    }
  }
}

std::string printable_part(std::string_view text, std::size_t most) {
  std::string part(text.substr(0, most));
  std::replace_if(part.begin(), part.end(), std::not_fn(is_printable_ascii), '?');
  return part;
}

// A record of the log: "3,1234,5678901,-;text", with further lines of properties behind the text.
struct Record {
  std::uint64_t at_us = 0;
  std::string_view text;
};

std::optional<Record> parse_record(std::string_view record) {
  const auto head_end = record.find(';');
  if (head_end == std::string_view::npos) {
    return std::nullopt;
  }
  const auto head = split(record.substr(0, head_end), ',');
  const auto at = head.size() > 2 ? parse_number<std::uint64_t>(head[2]) : std::nullopt;
  const std::string_view text = record.substr(head_end + 1);
  return at ? std::optional(Record{*at, text.substr(0, text.find('\n'))}) : std::nullopt;
}

}  // namespace

std::optional<MemoryKill> parse_memory_kill(std::string_view record) {
  constexpr std::string_view kWords =
      "ut of memory: Killed process ";  // also "Memory cgroup out of"
  const auto parsed = parse_record(record);
  const auto found = parsed ? parsed->text.find(kWords) : std::string_view::npos;
  if (found == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = parsed->text.substr(found + kWords.size());
  const auto open = rest.find(" (");
  const auto close = open == std::string_view::npos ? open : rest.find(')', open);
  const auto pid =
      open == std::string_view::npos ? std::nullopt : parse_number<pid_t>(rest.substr(0, open));
  if (!pid || *pid <= 0 || close == std::string_view::npos) {
    return std::nullopt;
  }
  constexpr std::size_t kMaxName = 64;
  return MemoryKill{*pid, printable_part(rest.substr(open + 2, close - open - 2), kMaxName),
                    parsed->at_us};
}

std::optional<GpuError> parse_gpu_error(std::string_view record) {
  constexpr std::string_view kWords = "NVRM: Xid (PCI:";
  constexpr std::size_t kMaxText = 120;
  constexpr std::size_t kMaxDevice = 24;
  const auto parsed = parse_record(record);
  if (!parsed || !parsed->text.starts_with(kWords)) {
    return std::nullopt;
  }
  const std::string_view rest = parsed->text.substr(kWords.size());
  const auto close = rest.find("): ");
  const std::string_view said =
      close == std::string_view::npos ? std::string_view() : rest.substr(close + 3);
  const auto xid = parse_number<std::int32_t>(said.substr(0, said.find(',')));
  if (!xid || *xid <= 0 || close > kMaxDevice) {
    return std::nullopt;
  }
  return GpuError{printable_part(rest.substr(0, close), kMaxDevice), *xid,
                  printable_part(said, kMaxText), parsed->at_us};
}

std::vector<std::string> kill_notes(const std::vector<MemoryKill>& kills,
                                    std::uint64_t begun_us,
                                    std::uint64_t now_us) {
  FewNotes newest(kMaxKernelNotes, "earlier kills for lack of memory");
  each_newest(kills, begun_us, now_us, [&newest](const MemoryKill& kill, const std::string& ago) {
    newest.add("pid " + std::to_string(kill.pid) + " (" + kill.name +
               ") was killed for lack of memory " + ago);
  });
  return newest.take();
}

std::vector<std::string> gpu_error_notes(const std::vector<GpuError>& errors,
                                         std::uint64_t begun_us,
                                         std::uint64_t now_us) {
  std::set<std::string> seen;
  FewNotes newest(kMaxKernelNotes, "GPUs with errors");
  each_newest(errors, begun_us, now_us, [&](const GpuError& error, const std::string& ago) {
    if (seen.insert(error.device).second) {
      newest.add("GPU " + error.device + " had an error " + ago + ": Xid " + error.text);
    }
  });
  return newest.take();
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
      add_newest(*std::move(kill), words.kills);
    } else if (auto error = parse_gpu_error(record)) {
      add_newest(*std::move(error), words.gpu_errors);
    } else if (auto word = parse_server_word(record); word && words.servers.size() < kMaxRecords) {
      words.servers.push_back(*std::move(word));
    }
  }
  return words;
}

}  // namespace oddrank::waits
