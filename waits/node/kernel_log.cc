#include "waits/node/kernel_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>
#include <functional>
#include <set>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/deadline.h"
#include "base/few_notes.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "base/unique_fd.h"
#include "snapshot/devices/xid_errors.h"

namespace oddrank::waits {

using snapshot::Capture;
using snapshot::Device;
using snapshot::meaning_of_xid;

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
  return GpuError{lower_case(printable_part(rest.substr(0, close), kMaxDevice)), *xid,
                  printable_part(said, kMaxText), parsed->at_us};
}

std::vector<std::string> kill_notes(const std::vector<MemoryKill>& kills,
                                    std::uint64_t begun_us,
                                    std::uint64_t now_us) {
  FewNotes newest(kMaxKernelNotes, "earlier kills for lack of memory");
  each_newest(kills, begun_us, now_us, [&newest](const MemoryKill& kill, std::uint64_t ago_s) {
    newest.add("pid " + std::to_string(kill.pid) + " (" + kill.name +
               ") was killed for lack of memory " + std::to_string(ago_s) + " s ago (kernel log)");
  });
  return newest.take();
}

std::uint64_t kernel_log_now_us() {
  constexpr std::uint64_t kSecondUs = 1'000'000;
  timespec now{};
  return ::clock_gettime(CLOCK_MONOTONIC, &now) == 0
             ? static_cast<std::uint64_t>(now.tv_sec) * kSecondUs
             : 0;
}

std::uint64_t first_start_us(const snapshot::Capture& capture) {
  std::uint64_t begun_us = UINT64_MAX;
  for (const snapshot::ProcessCapture& process : capture.processes) {
    begun_us = process.is_rank ? std::min(begun_us, process.start_us) : begun_us;
  }
  return begun_us;
}

KernelWords read_kernel_words(std::chrono::milliseconds patience) {
  KernelWords words;
  const UniqueFd log(::open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  words.readable = log.valid();
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

void add_gpu_errors(const KernelWords& words,
                    std::uint64_t begun_us,
                    std::uint64_t now_us,
                    Capture& capture) {
  auto& gpus = capture.collectives.devices;
  for (Device& gpu : gpus) {
    gpu.xid = words.readable && gpu.pci != snapshot::StringId{} ? 0 : -1;
  }
  std::set<std::string> seen;
  FewNotes lost(kMaxKernelNotes, "GPUs with errors");
  each_newest(words.gpu_errors, begun_us, now_us, [&](const GpuError& error, std::uint64_t ago_s) {
    const auto gpu = std::find_if(gpus.begin(), gpus.end(), [&](const Device& one) {
      return capture.tables.text(one.pci) == error.device;
    });
    if (gpu == gpus.end()) {
      if (seen.insert(error.device).second) {
        lost.add("GPU " + error.device + " had an error " + std::to_string(ago_s) +
                 " s ago (kernel log): Xid " + error.text);
      }
    } else if (gpu->xid <= 0 || meaning_of_xid(error.xid).fault > meaning_of_xid(gpu->xid).fault) {
      gpu->xid = error.xid;
      gpu->xid_ago_s = static_cast<std::int64_t>(ago_s);
      gpu->xid_text = capture.tables.string(error.text);
    }
  });
  for (std::string& note : lost.take()) {
    capture.nodes.front().notes.push_back(std::move(note));
  }
}

void add_gpu_errors(Capture& capture) {
  const std::uint64_t begun_us = first_start_us(capture);
  const std::uint64_t now_us = kernel_log_now_us();
  if (begun_us != UINT64_MAX && now_us != 0) {
    add_gpu_errors(read_kernel_words(), begun_us, now_us, capture);
  }
}

}  // namespace oddrank::waits
