// Runs a few instructions on a certain CPU, to read what only a thread there can read.
#pragma once

#include <chrono>
#include <functional>

namespace oddrank::attach {

// CPUs of one machine (the kernel's CONFIG_NR_CPUS is at most 8,192 on x86-64).
inline constexpr int kMaxCpus = 8192;

// Runs `work` in a thread of ours that is bound to the CPU, and waits until it is done. Returns
// whether it ran: not if this process may not use the CPU, or if the CPU has no time for the thread
// within `patience`, because a real-time thread spins there. Then `work` may run elsewhere; it must
// be short, and has ended when this returns.
bool visit_cpu(int cpu, std::chrono::milliseconds patience, const std::function<void()>& work);

}  // namespace oddrank::attach
