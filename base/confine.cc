#include "base/confine.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <span>
#include <vector>

namespace oddrank {
namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kShadowMemory = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kShadowMemory = true;
#else
constexpr bool kShadowMemory = false;
#endif
#else
constexpr bool kShadowMemory = false;
#endif

// Core files and libraries are mapped whole; only the pages that are read take memory.
constexpr rlim_t kMaxAddressSpace = rlim_t{16} << 40;
// Images of modules are files in memory with the gaps of the original
// (node/files/target_modules.h).
constexpr rlim_t kMaxFileSize = rlim_t{16} << 30;

// The older calls that x86-64 also has: aarch64 has only those that replaced them.
#if defined(__x86_64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_X86_64;
constexpr std::array kOldSetters = {std::uint32_t{PTRACE_SETREGS}, std::uint32_t{PTRACE_SETFPREGS}};
constexpr std::array<long, 1> kOldOpens = {SYS_open};
constexpr std::array<long, 11> kOldChanges = {SYS_creat, SYS_unlink, SYS_rename,  SYS_mkdir,
                                              SYS_rmdir, SYS_link,   SYS_symlink, SYS_mknod,
                                              SYS_chmod, SYS_chown,  SYS_lchown};
#elif defined(__aarch64__)
constexpr std::uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
constexpr std::array<std::uint32_t, 0> kOldSetters = {};
constexpr std::array<long, 0> kOldOpens = {};
constexpr std::array<long, 0> kOldChanges = {};
#endif

void lower(__rlimit_resource_t what, rlim_t limit) {
  rlimit now{};
  if (::getrlimit(what, &now) == 0 && (now.rlim_max == RLIM_INFINITY || now.rlim_max > limit)) {
    now = {limit, limit};
    ::setrlimit(what, &now);
  }
}

// A program for the kernel's filter machine: each rule about an argument either refuses the call or
// passes on; then the calls that are always refused are searched for by halves. When a filter is
// installed, the kernel tries it with every existing call: a comparison for each of 60 calls would
// take longer than everything else in a short-lived child.
class Filter {
 public:
  Filter();
  void refuse(std::span<const long> calls);
  void refuse(std::initializer_list<long> calls) { refuse(std::span(calls.begin(), calls.size())); }
  // Refuses the call if its argument has one of the bits, or is one of the values.
  void refuse_bits(long call, std::size_t argument, std::uint32_t bits);
  void refuse_values(long call, std::size_t argument, std::span<const std::uint32_t> values);
  void install();

 private:
  void add(std::uint16_t code,
           std::uint32_t value,
           std::uint8_t if_so = 0,
           std::uint8_t if_not = 0) {
    program_.push_back({code, if_so, if_not, value});
  }
  void load(std::size_t offset) {
    add(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(offset));
  }
  void load_call() { load(offsetof(seccomp_data, nr)); }
  // The lower half of an argument; x86-64 and aarch64 are little-endian.
  void load_argument(std::size_t argument) {
    load(offsetof(seccomp_data, args) + argument * sizeof(std::uint64_t));
  }
  void refuse_here() { add(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM); }
  // Refuses those calls, which are sorted, and allows all others.
  void end_with(std::span<const long> calls);

  std::vector<sock_filter> program_;
  std::vector<long> refused_;
};

Filter::Filter() {
  load(offsetof(seccomp_data, arch));
  add(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0);
  refuse_here();
  load_call();
}

void Filter::refuse(std::span<const long> calls) {
  refused_.insert(refused_.end(), calls.begin(), calls.end());
}

void Filter::end_with(std::span<const long> calls) {
  constexpr std::size_t kFew = 4;
  if (calls.size() <= kFew) {
    for (const long call : calls) {
      add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 1);
      refuse_here();
    }
    add(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    return;
  }
  const std::size_t middle = calls.size() / 2;
  const std::size_t branch = program_.size();
  add(BPF_JMP | BPF_JGE | BPF_K, static_cast<std::uint32_t>(calls[middle]));
  end_with(calls.first(middle));
  program_[branch].jt = static_cast<std::uint8_t>(program_.size() - branch - 1);
  end_with(calls.subspan(middle));
}

void Filter::refuse_bits(long call, std::size_t argument, std::uint32_t bits) {
  add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, 4);
  load_argument(argument);
  add(BPF_JMP | BPF_JSET | BPF_K, bits, 0, 1);
  refuse_here();
  load_call();
}

void Filter::refuse_values(long call, std::size_t argument, std::span<const std::uint32_t> values) {
  const auto rules = static_cast<std::uint8_t>(2 * values.size() + 2);
  add(BPF_JMP | BPF_JEQ | BPF_K, static_cast<std::uint32_t>(call), 0, rules);
  load_argument(argument);
  for (const std::uint32_t value : values) {
    add(BPF_JMP | BPF_JEQ | BPF_K, value, 0, 1);
    refuse_here();
  }
  load_call();
}

void Filter::install() {
  std::sort(refused_.begin(), refused_.end());
  end_with(refused_);
  const sock_fprog program{static_cast<unsigned short>(program_.size()), program_.data()};
  // Without this flag, kernels before 5.16 make every later call slower (speculation).
  constexpr unsigned kFlags = SECCOMP_FILTER_FLAG_SPEC_ALLOW;
  if (::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, kFlags, &program) != 0) {
    ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
  }
}

void add_common_rules(Filter& filter) {
  filter.refuse({SYS_execve, SYS_execveat, SYS_process_vm_writev, SYS_init_module, SYS_finit_module,
                 SYS_delete_module, SYS_kexec_load, SYS_bpf, SYS_mount, SYS_umount2, SYS_pivot_root,
                 SYS_chroot, SYS_reboot, SYS_add_key, SYS_request_key, SYS_keyctl, SYS_userfaultfd,
                 SYS_perf_event_open});
  std::vector<std::uint32_t> changes = {PTRACE_POKETEXT, PTRACE_POKEDATA, PTRACE_POKEUSER,
                                        PTRACE_SETREGSET, PTRACE_KILL};
  changes.insert(changes.end(), kOldSetters.begin(), kOldSetters.end());
  filter.refuse_values(SYS_ptrace, 0, changes);
}

void add_file_rules(Filter& filter) {
  constexpr std::uint32_t kWrites = O_WRONLY | O_RDWR | O_CREAT | O_TRUNC;
  filter.refuse_bits(SYS_openat, 2, kWrites);
  for (const long open : kOldOpens) {
    filter.refuse_bits(open, 1, kWrites);
  }
  filter.refuse(kOldChanges);
  filter.refuse({SYS_unlinkat, SYS_renameat, SYS_renameat2, SYS_mkdirat, SYS_linkat, SYS_symlinkat,
                 SYS_mknodat, SYS_fchmodat, SYS_fchownat, SYS_truncate, SYS_setxattr});
}

}  // namespace

bool memory_is_limited() {
  return !kShadowMemory;
}

void confine(const Freedom& may) {
  if (may.programs) {
    return;
  }
  ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
  ::signal(SIGXFSZ, SIG_IGN);  // a write fails instead
  lower(RLIMIT_FSIZE, kMaxFileSize);
  lower(RLIMIT_CORE, 0);
  if (memory_is_limited()) {
    lower(RLIMIT_AS, kMaxAddressSpace);
    lower(RLIMIT_DATA, may.memory);
  }
  Filter filter;
  add_common_rules(filter);
  if (!may.sockets) {
    filter.refuse(
        {SYS_socket, SYS_socketpair, SYS_connect, SYS_bind, SYS_listen, SYS_accept, SYS_accept4});
  }
  if (!may.files) {
    add_file_rules(filter);
  }
  filter.install();
}

}  // namespace oddrank
