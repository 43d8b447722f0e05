#include "attach/mapping_query.h"

#include <elf.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "attach/proc_maps.h"
#include "attach/proc_stat.h"
#include "base/read_file.h"

namespace oddrank::attach {
namespace {

// The kernel's struct procmap_query, which Debian 12's headers lack.
struct Query {
  std::uint64_t size = sizeof(Query);
  std::uint64_t flags = 0;
  std::uint64_t address = 0;
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  std::uint64_t rights = 0;
  std::uint64_t page_size = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t inode = 0;
  std::uint32_t device_major = 0;
  std::uint32_t device_minor = 0;
  std::uint32_t name_size = 0;
  std::uint32_t build_id_size = 0;
  std::uint64_t name_address = 0;
  std::uint64_t build_id_address = 0;
};
static_assert(sizeof(Query) == 104);

constexpr unsigned long kRequest = _IOWR('f', 17, Query);  // PROCMAP_QUERY
constexpr std::uint64_t kReadable = 0x01;
constexpr std::uint64_t kWritable = 0x02;
constexpr std::uint64_t kExecutable = 0x04;
constexpr std::uint64_t kShared = 0x08;
constexpr std::uint64_t kCoveringOrNext = 0x10;
constexpr std::uint64_t kFileBacked = 0x20;

// Bounds the list; the kernel's default limit is 65530 mappings.
constexpr int kMaxMappedFiles = 1 << 20;

// Queries one mapping; nullopt if there is none.
Result<std::optional<Mapping>> ask(int maps,
                                   const RootPath& root,
                                   Addr address,
                                   std::uint64_t flags) {
  std::array<char, PATH_MAX> name;  // not cleared: there are hundreds of queries
  name.front() = '\0';
  Query query;
  query.flags = flags;
  query.address = value_of(address);
  query.name_size = name.size();
  query.name_address = reinterpret_cast<std::uint64_t>(name.data());  // NOLINT: as the kernel wants
  if (::ioctl(maps, kRequest, &query) != 0) {
    if (errno == ENOENT) {
      return std::optional<Mapping>();
    }
    return fail(errno == ENOTTY ? Errc::kUnsupported : errno_code(errno),
                "PROCMAP_QUERY: " + errno_text(errno));
  }
  Mapping mapping;
  mapping.start = query.start;
  mapping.end = query.end;
  mapping.file_offset = query.file_offset;
  mapping.inode = query.inode;
  mapping.device = query.device_major << 20U | query.device_minor;
  mapping.readable = (query.rights & kReadable) != 0;
  mapping.writable = (query.rights & kWritable) != 0;
  mapping.executable = (query.rights & kExecutable) != 0;
  mapping.shared = (query.rights & kShared) != 0;
  set_mapped_path({name.data(), ::strnlen(name.data(), name.size())}, root, mapping);
  return std::optional<Mapping>(std::move(mapping));
}

// Returns addresses in the vdso and the main thread's stack, which the kernel passed to the loader
// and still shows (/proc/PID/auxv). AT_RANDOM points at bytes on that stack.
std::vector<Addr> places_without_files(pid_t pid) {
  std::vector<Addr> places;
  const auto text = read_process_file(pid, "auxv", 4096);
  if (!text) {
    return places;
  }
  for (std::size_t at = 0; at + sizeof(Elf64_auxv_t) <= text->size(); at += sizeof(Elf64_auxv_t)) {
    Elf64_auxv_t entry{};
    std::memcpy(&entry, text->data() + at, sizeof entry);
    if (entry.a_type == AT_SYSINFO_EHDR || entry.a_type == AT_RANDOM) {
      places.push_back(Addr{entry.a_un.a_val});
    }
  }
  return places;
}

Result<MemoryMap> ask_memory_map(pid_t pid) {
  ODDRANK_TRY(auto query, MappingQuery::open(pid));
  std::vector<Mapping> listed;
  Addr address{0};
  for (int i = 0; i < kMaxMappedFiles; ++i) {
    ODDRANK_TRY(auto mapping, query->next_file(address));
    if (!mapping) {
      break;
    }
    if (mapping->end <= value_of(address)) {
      return fail(Errc::kBadData, "PROCMAP_QUERY went backwards");
    }
    address = Addr{mapping->end};
    listed.push_back(*std::move(mapping));
  }
  for (const Addr place : places_without_files(pid)) {
    if (auto mapping = query->at(place)) {
      listed.push_back(*std::move(mapping));
    }
  }
  return MemoryMap(std::move(listed), std::move(query));
}

}  // namespace

Result<std::shared_ptr<MappingQuery>> MappingQuery::open(pid_t pid) {
  const std::string path = process_folder(pid) + "/maps";
  UniqueFd maps(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!maps.valid()) {
    return fail(errno_code(errno), "cannot open " + path + ": " + errno_text(errno));
  }
  RootPath root = RootPath::of(pid);
  ODDRANK_TRY_STATUS(ask(maps.get(), root, Addr{0}, kCoveringOrNext));
  return std::shared_ptr<MappingQuery>(new MappingQuery(std::move(maps), std::move(root)));
}

std::optional<Mapping> MappingQuery::at(Addr address) const {
  auto mapping = ask(maps_.get(), root_, address, 0);
  return mapping ? *std::move(mapping) : std::nullopt;
}

Result<std::optional<Mapping>> MappingQuery::next_file(Addr address) const {
  return ask(maps_.get(), root_, address, kCoveringOrNext | kFileBacked);
}

Result<MemoryMap> read_memory_map(pid_t pid) {
  auto map = ask_memory_map(pid);
  return map ? std::move(map) : read_proc_maps(pid);
}

}  // namespace oddrank::attach
