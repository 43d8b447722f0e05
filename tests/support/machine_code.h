// Machine code of this machine, for made-up processes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/machine.h"

namespace oddrank::test {

// A machine that this program does not read.
inline constexpr Machine kOtherMachine =
    kOurMachine == Machine::kAmd64 ? Machine::kAarch64 : Machine::kAmd64;

// Returns a direct call of `target`, for the address `at`.
std::string call_code(std::uint64_t at, std::uint64_t target);

// Returns calls through registers and memory.
std::vector<std::string> indirect_calls();

// Returns a jump through a register or memory, which is no call.
std::string jump_code();

// Returns a direct jump to `target`, for the address `at`.
std::string jump_code(std::uint64_t at, std::uint64_t target);

// Returns what handlers of signals return to.
std::string signal_return_code();

// Returns the linker's stub for the address `at`, which jumps to the address that is in `slot`, a
// multiple of 8 in the same page of 4 KiB. `guarded`: as it is where control flow is enforced.
std::string stub_code(std::uint64_t at, std::uint64_t slot, bool guarded);

// Returns a function that returns the 64-bit member at `offset`, a multiple of 8, of its object.
std::string getter_code(std::uint32_t offset);

// Returns what functions begin with where control flow is enforced.
std::string landing_code();

// Returns a function that does nothing.
std::string empty_code();

// Returns a function that returns 0.
std::string zero_code();

// Returns functions that are no getters, though they look alike: negative offsets, other registers,
// 32 bits.
std::vector<std::string> almost_getters();

// Returns the instruction that makes a system call, and the one that loads its number.
std::string system_call_code();
std::string load_number_code(std::uint32_t number);

// Returns an instruction that neither loads a number nor makes a call.
std::string other_code();

// Memory of the C library's descriptor of a thread, as far as it shows that it is one.
struct MemoryWords {
  std::uint64_t address = 0;
  std::vector<std::uint64_t> words{};
};
std::vector<MemoryWords> thread_descriptor(std::uint64_t address);

// How far behind main(), in the program of sample_path(), its return address is on the stack, and
// in which word of the stack.
struct SavedReturn {
  std::uint64_t from = 0;
  std::size_t word = 0;
};
SavedReturn saved_return();

}  // namespace oddrank::test
