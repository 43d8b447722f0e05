// glibc keeps the last message of __libc_message (assert, malloc, stack protector) for debuggers:
// `__abort_msg` points to a size and the text (sysdeps/posix/libc_fatal.c, assert/assert.c; since
// 2.11, exported as GLIBC_PRIVATE).
#include "ranks/cores/core_crash.h"

#include <algorithm>
#include <csignal>
#include <span>
#include <string>

#include "base/secrets/mask_secrets.h"
#include "base/split.h"
#include "elf/elf_image.h"
#include "elf/module_map.h"
#include "snapshot/libraries/known_libraries.h"

namespace oddrank::ranks {
namespace {

using attach::Addr;

// gcore and debuggers stop the process with signals that do not end it.
bool ends_the_process(int number) {
  return number > 0 && number != SIGTRAP && number != SIGSTOP && number != SIGTSTP &&
         number != SIGCONT && number != SIGCHLD;
}

std::uint64_t word_at(const attach::CoreTarget& target, Addr address) {
  std::uint64_t word = 0;
  return target.read(address, std::as_writable_bytes(std::span(&word, 1))) ? word : 0;
}

// Returns the message, without the end of its line; "" if there is none.
std::string message_at(const attach::CoreTarget& target, Addr address) {
  constexpr std::size_t kMaxMessage = 1024;
  std::string text(kMaxMessage, '\0');
  const std::uint64_t message = word_at(target, address);
  const std::uint64_t size = word_at(target, Addr{message}) & 0xffffffff;
  if (message == 0 || size == 0) {
    return {};
  }
  text.resize(std::min<std::uint64_t>(size, kMaxMessage));
  if (!target.read(Addr{message + sizeof(std::uint32_t)},
                   std::as_writable_bytes(std::span(text)))) {
    return {};
  }
  text.resize(std::min(text.find('\0'), text.size()));
  return std::string(trim(text));
}

std::string abort_message(const attach::CoreTarget& target) {
  elf::ModuleMap modules(target);
  for (const elf::Module& module : modules.modules()) {
    if (snapshot::library_of(module.path) != snapshot::Library::kLibc) {
      continue;
    }
    const auto image = modules.image_of(module);
    const auto bias = modules.load_bias(module);
    const auto symbol = image ? (*image)->symbol("__abort_msg") : std::nullopt;
    if (symbol && bias) {
      return message_at(target, Addr{symbol->address + *bias});
    }
  }
  return {};
}

}  // namespace

snapshot::Crash find_crash(const attach::CoreTarget& target, snapshot::Tables& tables) {
  const attach::CoreNotes& notes = target.core().notes();
  snapshot::Crash crash;
  if (notes.threads.empty()) {
    return crash;
  }
  const attach::CoreThread& first = notes.threads.front();
  const int number = notes.signal ? notes.signal->number : first.signal;
  if (!ends_the_process(number)) {
    return crash;
  }
  crash.signal = number;
  crash.tid = first.tid;
  if (notes.signal) {
    crash.code = notes.signal->code;
    crash.address = notes.signal->address;
    crash.sender = notes.signal->sender;
  }
  if (number == SIGABRT) {
    crash.message = tables.string(mask_text(abort_message(target)));
  }
  return crash;
}

}  // namespace oddrank::ranks
