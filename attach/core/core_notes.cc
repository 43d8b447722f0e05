#include "attach/core/core_notes.h"

#include <elf.h>
#include <signal.h>
#include <sys/procfs.h>
#include <sys/user.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string_view>

#include "attach/core/core_bytes.h"
#include "attach/proc_path.h"
#include "attach/user_registers.h"
#include "base/elf_notes.h"

namespace oddrank::attach {
namespace {

// More than any process has; bounds the cost of a forged file.
constexpr std::size_t kMaxCoreThreads = std::size_t{1} << 20;
constexpr std::size_t kMaxCoreFiles = std::size_t{1} << 21;
constexpr std::size_t kMaxAuxiliary = 1024;
constexpr std::uint64_t kMaxPage = std::uint64_t{1} << 30;

template <std::size_t kSize>
std::string field_text(const char (&field)[kSize]) {
  return {field, ::strnlen(field, kSize)};
}

std::uint64_t whole_microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(std::max<__time_t>(time.tv_sec, 0)) * 1000000 +
         static_cast<std::uint64_t>(std::max<__suseconds_t>(time.tv_usec, 0));
}

timeval time_of(const elf_prstatus& status, bool user) {
  timeval time{};
  std::memcpy(&time, user ? &status.pr_utime : &status.pr_stime, sizeof time);
  return time;
}

void add_thread(Bytes body, CoreNotes& into) {
  const auto status = front_of<elf_prstatus>(body);
  if (!status || into.threads.size() >= kMaxCoreThreads) {
    return;
  }
  static_assert(sizeof status->pr_reg == sizeof(user_regs_struct));
  user_regs_struct all{};
  std::memcpy(&all, &status->pr_reg, sizeof all);
  CoreThread thread;
  thread.tid = status->pr_pid;
  thread.signal = status->pr_cursig;
  thread.stopped = registers_of(all);
  thread.blocked_signals = status->pr_sighold;
  thread.cpu_us =
      whole_microseconds(time_of(*status, true)) + whole_microseconds(time_of(*status, false));
  into.threads.push_back(thread);
}

void add_process(Bytes body, CoreNotes& into) {
  const auto info = front_of<elf_prpsinfo>(body);
  if (!info || into.process) {
    return;
  }
  into.process = CoreProcess{info->pr_pid, info->pr_ppid, field_text(info->pr_fname),
                             field_text(info->pr_psargs)};
}

bool has_address(int number) {
  return number == SIGSEGV || number == SIGBUS || number == SIGILL || number == SIGFPE;
}

void add_signal(Bytes body, CoreNotes& into) {
  const auto info = front_of<siginfo_t>(body);
  if (!info || into.signal) {
    return;
  }
  CoreSignal signal;
  signal.number = info->si_signo;
  signal.code = info->si_code;
  if (has_address(signal.number) && signal.code > 0) {
    std::memcpy(&signal.address, &info->si_addr, sizeof signal.address);
  } else if (signal.code == SI_USER || signal.code == SI_TKILL || signal.code == SI_QUEUE) {
    signal.sender = info->si_pid;
  }
  into.signal = signal;
}

void add_auxiliary(Bytes body, CoreNotes& into) {
  if (!into.auxiliary.empty()) {
    return;
  }
  while (body.size() >= 2 * sizeof(std::uint64_t) && into.auxiliary.size() < kMaxAuxiliary) {
    std::array<std::uint64_t, 2> pair{};
    std::memcpy(pair.data(), body.data(), sizeof pair);
    into.auxiliary.insert(into.auxiliary.end(), pair.begin(), pair.end());
    if (pair[0] == AT_NULL) {
      return;
    }
    body = body.subspan(sizeof pair);
  }
}

// long count, long page size, count times { start, end, offset in pages }, count names.
void add_files(Bytes body, CoreNotes& into) {
  constexpr std::size_t kRow = 3 * sizeof(std::uint64_t);
  const auto head = front_of<std::array<std::uint64_t, 2>>(body);
  if (!head || !into.files.empty()) {
    return;
  }
  const auto [count, page] = *head;
  body = body.subspan(sizeof *head);
  if (!std::has_single_bit(page) || page > kMaxPage || count > kMaxCoreFiles ||
      count > body.size() / kRow) {
    return;
  }
  const Bytes rows = body.first(count * kRow);
  std::string_view names(reinterpret_cast<const char*>(body.data()) + rows.size(),
                         body.size() - rows.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto end = names.find('\0');
    if (end == std::string_view::npos) {
      return;
    }
    std::array<std::uint64_t, 3> row{};
    std::memcpy(row.data(), rows.data() + i * kRow, kRow);
    const ProcPath name = proc_path(names.substr(0, end));
    CoreMappedFile file{row[0], row[1], row[2] * page, std::string(name.path), name.deleted};
    names.remove_prefix(end + 1);
    if (file.start < file.end) {
      into.files.push_back(std::move(file));
    }
  }
}

}  // namespace

std::optional<std::uint64_t> CoreNotes::auxiliary_value(std::uint64_t key) const {
  for (std::size_t i = 0; i + 1 < auxiliary.size(); i += 2) {
    if (auxiliary[i] == key) {
      return auxiliary[i + 1];
    }
  }
  return std::nullopt;
}

void read_core_notes(Bytes notes, std::uint64_t alignment, CoreNotes& into) {
  while (const auto note = take_note(notes, alignment)) {
    if (note->owner == "LINUX" && !into.threads.empty()) {  // the thread's other registers
      add_register_note(note->type, note->body, into.threads.back().stopped.registers);
    }
    if (note->owner != "CORE") {
      continue;
    }
    switch (note->type) {
      case NT_PRSTATUS:
        add_thread(note->body, into);
        break;
      case NT_PRPSINFO:
        add_process(note->body, into);
        break;
      case NT_SIGINFO:
        add_signal(note->body, into);
        break;
      case NT_AUXV:
        add_auxiliary(note->body, into);
        break;
      case NT_FILE:
        add_files(note->body, into);
        break;
      default:
        break;
    }
  }
}

}  // namespace oddrank::attach
