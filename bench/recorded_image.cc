#include "bench/recorded_image.h"

#include <elf.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <sstream>
#include <utility>

#include "base/isolated.h"
#include "base/read_file.h"

namespace oddrank::bench {
namespace {

using attach::Addr;
using attach::Mapping;
using attach::MemoryMap;
using attach::ReadRequest;
using attach::ThreadState;

constexpr std::uint64_t kImagePage = 4096;
constexpr std::size_t kMaxImage = std::size_t{64} << 20;
constexpr const char* kFirstLine = "oddrank image 1";

Result<UniqueFd> no_file(const Mapping& mapping) {
  return fail(Errc::kNotFound, "files are not part of an image: " + mapping.path);
}

Result<UniqueFd> file_of(const std::string& bytes) {
  UniqueFd fd(::memfd_create("program", MFD_CLOEXEC));
  if (!fd.valid() || !send_bytes(fd.get(), bytes)) {
    return fail(Errc::kIo, "no file in memory");
  }
  return fd;
}

template <typename T>
std::optional<T> object_at(const std::string& file, std::uint64_t offset) {
  T object{};
  if (offset > file.size() || sizeof object > file.size() - offset) {
    return std::nullopt;
  }
  std::memcpy(&object, file.data() + offset, sizeof object);
  return object;
}

// Returns the file with all bytes zero but its headers, symbols and notes.
std::string pruned(const std::string& file) {
  std::string kept(file.size(), '\0');
  const auto keep = [&](std::uint64_t offset, std::uint64_t size) {
    if (offset <= file.size() && size <= file.size() - offset) {
      std::memcpy(kept.data() + offset, file.data() + offset, size);
    }
  };
  const auto header = object_at<Elf64_Ehdr>(file, 0);
  if (!header) {
    return kept;
  }
  keep(0, sizeof *header + std::uint64_t{header->e_phnum} * header->e_phentsize);
  keep(header->e_shoff, std::uint64_t{header->e_shnum} * header->e_shentsize);
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    const auto section = object_at<Elf64_Shdr>(file, header->e_shoff + i * header->e_shentsize);
    if (section && (section->sh_type == SHT_DYNSYM || section->sh_type == SHT_STRTAB ||
                    section->sh_type == SHT_NOTE || section->sh_type == SHT_GNU_HASH)) {
      keep(section->sh_offset, section->sh_size);
    }
  }
  return kept;
}

// The file: a line of words for each thread and mapping, then pages and the program, each a line
// and its bytes.
void write_thread(std::ostream& out, const ThreadState& thread) {
  const auto registers = thread.registers.value_or(attach::Registers{});
  out << "thread " << thread.tid << " " << thread.state << " " << registers.pc << " "
      << registers.sp << " " << (thread.syscall ? thread.syscall->number : -1) << " "
      << (thread.syscall ? thread.syscall->arguments[0] : 0) << " " << thread.name << "\n";
}

ThreadState read_thread(std::istream& words) {
  ThreadState thread;
  attach::SyscallState call;
  attach::Registers registers;
  words >> thread.tid >> thread.state >> registers.pc >> registers.sp >> call.number >>
      call.arguments[0] >> thread.name;
  thread.target_tid = thread.tid;
  thread.syscall = call;
  thread.registers = registers;
  return thread;
}

void write_mapping(std::ostream& out, const Mapping& mapping) {
  out << "map " << mapping.start << " " << mapping.end << " " << mapping.readable << " "
      << mapping.writable << " " << mapping.executable << " " << mapping.file_offset << " "
      << mapping.inode << " " << mapping.device << " " << mapping.path << "\n";
}

Mapping read_mapping(std::istream& words) {
  Mapping mapping;
  words >> mapping.start >> mapping.end >> mapping.readable >> mapping.writable >>
      mapping.executable >> mapping.file_offset >> mapping.inode >> mapping.device >> mapping.path;
  return mapping;
}

}  // namespace

void RecordingTarget::keep(Addr address, std::size_t size) const {
  const std::uint64_t first = value_of(address) / kImagePage;
  const std::uint64_t last = (value_of(address) + std::max<std::size_t>(size, 1) - 1) / kImagePage;
  for (std::uint64_t number = first; number <= last; ++number) {
    std::string page(kImagePage, '\0');
    if (!pages_.contains(number) &&
        target_.read(Addr{number * kImagePage}, std::as_writable_bytes(std::span(page)))) {
      pages_.emplace(number, std::move(page));
    }
  }
}

Status RecordingTarget::read(Addr address, std::span<std::byte> into) const {
  keep(address, into.size());
  return target_.read(address, into);
}

void RecordingTarget::read_many(std::span<ReadRequest> requests) const {
  for (const ReadRequest& request : requests) {
    keep(request.address, request.into.size());
  }
  target_.read_many(requests);
}

Result<UniqueFd> RecordingTarget::open_file(const Mapping& mapping) const {
  if (!offers_program || mapping.path != maps_.listed().front().path) {
    return no_file(mapping);
  }
  ODDRANK_TRY(const UniqueFd fd, target_.open_file(mapping));
  ODDRANK_TRY(const std::string whole, read_all(fd.get(), mapping.path, kMaxImage));
  program_ = pruned(whole);
  return file_of(program_);
}

Result<std::vector<ThreadState>> RecordingTarget::threads() const {
  ODDRANK_TRY(threads_, target_.threads());
  return threads_;
}

Result<ThreadState> RecordingTarget::thread(pid_t tid) const {
  return target_.thread(tid);
}

std::string RecordingTarget::image() const {
  std::ostringstream out;
  out << kFirstLine << "\n";
  for (const ThreadState& thread : threads_) {
    write_thread(out, thread);
  }
  for (const Mapping& mapping : maps_.listed()) {
    write_mapping(out, mapping);
  }
  for (const auto& [number, bytes] : pages_) {
    out << "page " << number << "\n" << bytes << "\n";
  }
  out << "program " << program_.size() << "\n" << program_ << "\n";
  return out.str();
}

Result<std::unique_ptr<RecordedTarget>> RecordedTarget::open(const std::string& path) {
  ODDRANK_TRY(const std::string text, read_file(path, kMaxImage));
  auto target = std::make_unique<RecordedTarget>();
  std::vector<Mapping> mappings;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::istringstream words(text.substr(at, end - at));
    at = end + 1;
    std::string kind;
    words >> kind;
    if (kind == "thread") {
      target->threads_.push_back(read_thread(words));
    } else if (kind == "map") {
      mappings.push_back(read_mapping(words));
    } else if (kind == "page") {
      std::uint64_t number = 0;
      words >> number;
      target->pages_.emplace(number, text.substr(at, kImagePage));
      at += kImagePage + 1;
    } else if (kind == "program") {
      std::size_t size = 0;
      words >> size;
      target->program_ = text.substr(at, size);
      at += target->program_.size() + 1;
    }
  }
  if (target->threads_.empty()) {
    return fail(Errc::kBadData, path + " is not an image");
  }
  target->maps_ = MemoryMap(std::move(mappings));
  return target;
}

Status RecordedTarget::read(Addr address, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size()) {
    const std::uint64_t at = value_of(address) + done;
    const auto page = pages_.find(at / kImagePage);
    if (page == pages_.end()) {
      return fail(Errc::kBadData, "a page that is not in the image");
    }
    const std::size_t offset = at % kImagePage;
    const std::size_t count = std::min<std::size_t>(into.size() - done, kImagePage - offset);
    std::memcpy(into.data() + done, page->second.data() + offset, count);
    done += count;
  }
  return ok();
}

void RecordedTarget::read_many(std::span<ReadRequest> requests) const {
  for (ReadRequest& request : requests) {
    request.got = 0;
    for (std::size_t done = 0; done < request.into.size();) {
      const std::uint64_t at = value_of(request.address) + done;
      const std::size_t count =
          std::min<std::size_t>(request.into.size() - done, kImagePage - at % kImagePage);
      if (!read(Addr{at}, request.into.subspan(done, count))) {
        break;
      }
      done += count;
      request.got = done;
    }
  }
}

Result<UniqueFd> RecordedTarget::open_file(const Mapping& mapping) const {
  return offers_program && mapping.path == maps_.listed().front().path ? file_of(program_)
                                                                       : no_file(mapping);
}

Result<ThreadState> RecordedTarget::thread(pid_t tid) const {
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [tid](const ThreadState& one) { return one.tid == tid; });
  return found == threads_.end() ? Result<ThreadState>(fail(Errc::kGone, "no such thread"))
                                 : Result<ThreadState>(*found);
}

}  // namespace oddrank::bench
