#include "base/proc/held_up.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/parse_number.h"
#include "base/read_file.h"
#include "base/split.h"

namespace oddrank {
namespace {

constexpr std::size_t kMaxHeldPath = 1024;

struct FileCall {
  long number;
  const char* name;
  bool has_path;  // a folder's descriptor and a path; else a file's descriptor
};

#ifndef SYS_openat2
#define SYS_openat2 437
#endif

// The calls by which readers open, examine and read files.
constexpr std::array<FileCall, 11> kFileCalls = {{
    {SYS_openat, "openat", true},
    {SYS_openat2, "openat2", true},
    {SYS_newfstatat, "fstatat", true},
    {SYS_statx, "statx", true},
    {SYS_readlinkat, "readlinkat", true},
    {SYS_faccessat, "faccessat", true},
    {SYS_read, "read", false},
    {SYS_pread64, "pread", false},
    {SYS_fstat, "fstat", false},
    {SYS_fstatfs, "fstatfs", false},
    {SYS_getdents64, "getdents", false},
}};

std::optional<std::uint64_t> argument(const std::vector<std::string_view>& words, std::size_t at) {
  constexpr std::string_view kHex = "0x";
  return at < words.size() && words[at].starts_with(kHex)
             ? parse_number<std::uint64_t>(words[at].substr(kHex.size()), 16)
             : std::nullopt;
}

std::string text_at(pid_t pid, std::uint64_t address) {
  std::string text(kMaxHeldPath, '\0');
  iovec here{text.data(), text.size()};
  // Up to the end of its page: the next one need not exist.
  constexpr std::uint64_t kPage = 4096;
  here.iov_len = std::min<std::size_t>(here.iov_len, kPage - address % kPage);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the child
  iovec there{reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), here.iov_len};
  const ssize_t count = ::process_vm_readv(pid, &here, 1, &there, 1, 0);
  text.resize(count > 0 ? static_cast<std::size_t>(count) : 0);
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

// Returns what the descriptor leads to; "" if that is no file.
std::string file_of(const std::string& process, std::uint64_t fd) {
  const bool here = static_cast<std::int32_t>(fd) == AT_FDCWD;
  std::string path =
      read_link(here ? process + "/cwd" : process + "/fd/" + std::to_string(fd)).value_or("");
  return path.starts_with('/') ? path : std::string();
}

}  // namespace

std::string held_up_by(pid_t child) {
  const std::string process = "/proc/" + std::to_string(child);
  const auto text = read_file(process + "/syscall", 512);
  const auto words = text ? split_blanks(*text) : std::vector<std::string_view>();
  if (!words.empty() && words.front() == "-1") {  // it sleeps, and is in no call: a page fault
    return "a page of a mapped file";
  }
  const auto number = words.empty() ? std::nullopt : parse_number<long>(words.front());
  const auto call = std::find_if(kFileCalls.begin(), kFileCalls.end(),
                                 [&](const FileCall& each) { return number == each.number; });
  const auto fd = argument(words, 1);
  if (call == kFileCalls.end() || !fd) {
    return {};
  }
  std::string path;
  if (const auto name = argument(words, 2); call->has_path && name) {
    path = text_at(child, *name);
  }
  if (!path.starts_with('/')) {
    const std::string folder = file_of(process, *fd);
    path = path.empty() ? folder : (folder == "/" ? "" : folder) + "/" + path;
  }
  return path.starts_with('/') ? std::string(call->name) + "() of " + path : std::string();
}

}  // namespace oddrank
