// The kind of processor of this program and of all processes that it reads. Machine code, system
// calls and the C library's objects depend on it.
//
// Numbers of system calls that not every machine has: aarch64 has only the newer form of each. A
// call that this machine lacks gets an impossible number.
#pragma once

#include <sys/syscall.h>

#include <cstdint>
#include <string_view>

namespace oddrank {

enum class Machine : std::uint8_t { kAmd64, kAarch64 };

#if defined(__x86_64__)
inline constexpr Machine kOurMachine = Machine::kAmd64;
#elif defined(__aarch64__)
inline constexpr Machine kOurMachine = Machine::kAarch64;
#else
#error "oddrank reads processes of x86-64 and aarch64 only"
#endif

// By how many bytes a mutex of the C library is larger than on x86-64 (40), where offsets of
// members behind a mutex were measured.
inline constexpr std::uint32_t kMutexGrowth = kOurMachine == Machine::kAarch64 ? 8 : 0;

// Returns "x86-64" or "aarch64".
constexpr std::string_view machine_name(Machine machine) {
  return machine == Machine::kAmd64 ? "x86-64" : "aarch64";
}

// Returns the number in the header of the machine's ELF files (EM_X86_64, EM_AARCH64).
constexpr std::uint16_t elf_machine(Machine machine) {
  constexpr std::uint16_t kElfX86 = 62;
  constexpr std::uint16_t kElfAarch64 = 183;
  return machine == Machine::kAmd64 ? kElfX86 : kElfAarch64;
}

inline constexpr long kNoSuchCall = -1000;

#ifdef SYS_poll
inline constexpr long kSysPoll = SYS_poll;
inline constexpr long kSysSelect = SYS_select;
inline constexpr long kSysPause = SYS_pause;
inline constexpr long kSysEpollWait = SYS_epoll_wait;
#else
inline constexpr long kSysPoll = kNoSuchCall;
inline constexpr long kSysSelect = kNoSuchCall - 1;
inline constexpr long kSysPause = kNoSuchCall - 2;
inline constexpr long kSysEpollWait = kNoSuchCall - 3;
#endif

}  // namespace oddrank
