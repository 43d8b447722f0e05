#include "attach/core/core_target.h"

#include <elf.h>
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <set>
#include <utility>

#include "attach/core/core_bytes.h"
#include "attach/user_registers.h"
#include "base/hex.h"
#include "base/machine.h"

namespace oddrank::attach {
namespace {

// glibc on x86-64: struct pthread begins with a pointer to itself at 16 bytes (its own thread
// pointer, sysdeps/x86_64/nptl/tls.h) and has had its tid at 720 for many years. Elsewhere the
// struct ends at the thread pointer, its size differs between versions, and no pointer proves it.
constexpr std::uint64_t kOwnPointer = 16;
constexpr std::uint64_t kOwnTid = 720;

Mapping mapping_of(const CoreSegment& segment, std::uint64_t start, std::uint64_t end) {
  Mapping mapping;
  mapping.start = start;
  mapping.end = end;
  mapping.readable = segment.readable;
  mapping.writable = segment.writable;
  mapping.executable = segment.executable;
  return mapping;
}

ThreadState state_of(const CoreThread& thread, const ReadCode& code) {
  ThreadState state;
  state.tid = thread.tid;
  state.target_tid = thread.tid;
  state.cpu_us = thread.cpu_us;
  StoppedRegisters stopped = thread.stopped;
  state.syscall = settle_call(stopped, code, true);
  state.state = state.syscall ? 'S' : 'R';
  state.registers = stopped.registers;
  return state;
}

// Returns the tid that glibc has stored for the thread, in the pid namespace of the process; 0 if
// it cannot be known.
pid_t noted_tid(const Target& target, const ThreadState& thread) {
  if (kOurMachine != Machine::kAmd64) {
    return 0;
  }
  const std::uint64_t block = thread.registers->thread_pointer;
  const auto own = read_object<std::uint64_t>(target, Addr{block + kOwnPointer});
  const auto tid = read_object<std::int32_t>(target, Addr{block + kOwnTid});
  return own && *own == block && tid && *tid > 0 ? *tid : 0;
}

}  // namespace

CoreTarget::CoreTarget(CoreFile core, const std::string& sysroot, std::int64_t written)
    : core_(std::move(core)), modules_(core_, sysroot, written) {}

Result<std::unique_ptr<CoreTarget>> CoreTarget::open(const std::string& path,
                                                     const std::string& sysroot) {
  ODDRANK_TRY(CoreFile core, CoreFile::open(path));
  const std::int64_t written = core.written();
  std::unique_ptr<CoreTarget> target(new CoreTarget(std::move(core), sysroot, written));
  target->make_maps();
  target->make_threads();
  return target;
}

// Files and segments are both lists of ranges. If they overlap, the segment has the permissions of
// the memory; a file without a segment was not written by gcore.
void CoreTarget::make_maps() {
  std::vector<const CoreMappedFile*> files;
  for (const CoreMappedFile& file : core_.notes().files) {
    files.push_back(&file);
  }
  std::stable_sort(
      files.begin(), files.end(),
      [](const CoreMappedFile* a, const CoreMappedFile* b) { return a->start < b->start; });
  std::uint64_t last_end = 0;
  std::erase_if(files, [&last_end](const CoreMappedFile* file) {
    const bool overlaps = file->start < last_end;
    last_end = std::max(last_end, file->end);
    return overlaps;
  });

  const std::vector<std::string>& paths = modules_.paths();
  std::unordered_map<std::string_view, std::size_t> index;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    index.emplace(paths[i], i);
  }
  for (const CoreMappedFile* file : files) {
    add_file_mappings(*file, index.at(file->path));
  }
  auto file = files.begin();
  for (const CoreSegment& segment : core_.segments()) {
    std::uint64_t at = segment.start;
    while (file != files.end() && (*file)->end <= at) {
      ++file;
    }
    for (auto next = file; next != files.end() && (*next)->start < segment.end; ++next) {
      if ((*next)->start > at) {
        found_.push_back(mapping_of(segment, at, (*next)->start));
      }
      at = std::max(at, (*next)->end);
    }
    if (at < segment.end) {
      found_.push_back(mapping_of(segment, at, segment.end));
    }
  }
  name_mappings();
  maps_ = MemoryMap(std::move(found_));
}

void CoreTarget::add_file_mappings(const CoreMappedFile& file, std::size_t index) {
  const auto add = [&](Mapping mapping) {
    mapping.file_offset = file.file_offset + (mapping.start - file.start);
    mapping.inode = index + 1;  // a core knows no inodes; files are distinguished by their paths
    mapping.path = file.path;
    mapping.deleted = file.deleted;
    found_.push_back(std::move(mapping));
  };
  // The program headers show the permissions of a part of the file that has no segment.
  const auto add_unwritten = [&](std::uint64_t start, std::uint64_t end) {
    Mapping mapping;
    mapping.start = start;
    mapping.end = end;
    mapping.readable = true;
    const std::uint64_t offset = file.file_offset + (start - file.start);
    for (const FilePart& part : modules_.parts(index)) {
      const std::uint64_t first = part.offset & ~(kPage - 1);
      if (offset >= first && offset - first < part.size + (part.offset - first)) {
        mapping.executable = mapping.executable || part.executable;
        mapping.writable = mapping.writable || part.writable;
      }
    }
    add(std::move(mapping));
  };
  const auto& segments = core_.segments();
  auto segment =
      std::upper_bound(segments.begin(), segments.end(), file.start,
                       [](std::uint64_t value, const CoreSegment& one) { return value < one.end; });
  std::uint64_t at = file.start;
  for (; segment != segments.end() && segment->start < file.end; ++segment) {
    if (segment->start > at) {
      add_unwritten(at, segment->start);
    }
    at = std::max(at, segment->start);
    const std::uint64_t end = std::min(segment->end, file.end);
    add(mapping_of(*segment, at, end));
    at = end;
  }
  if (at < file.end) {
    add_unwritten(at, file.end);
  }
}

// Gives mappings without a file the kernel's names for them.
void CoreTarget::name_mappings() {
  const auto vdso = core_.notes().auxiliary_value(AT_SYSINFO_EHDR);
  const auto stack = core_.notes().auxiliary_value(AT_RANDOM);
  for (Mapping& mapping : found_) {
    if (mapping.inode != 0) {
      continue;
    }
    if (vdso && mapping.start == *vdso) {
      mapping.path = "[vdso]";
    } else if (stack && *stack >= mapping.start && *stack < mapping.end) {
      mapping.path = "[stack]";
    }
  }
}

void CoreTarget::make_threads() {
  const CoreNotes& notes = core_.notes();
  for (const CoreThread& thread : notes.threads) {
    threads_.push_back(state_of(thread, [this](std::uint64_t address) {
      const auto code = read_object<std::uint32_t>(*this, Addr{address});
      return code ? std::optional(*code) : std::nullopt;
    }));
  }
  std::stable_sort(threads_.begin(), threads_.end(),
                   [](const ThreadState& a, const ThreadState& b) { return a.tid < b.tid; });
  pid_ = notes.process ? notes.process->pid : threads_.front().tid;
  name_ = notes.process ? notes.process->name : std::string();
  std::stable_partition(threads_.begin(), threads_.end(),
                        [this](const ThreadState& thread) { return thread.tid == pid_; });
  if (threads_.front().tid == pid_) {
    threads_.front().name = name_;
  }
  // gcore writes tids of its own pid namespace, not of a container's; the process's memory has the
  // right ones.
  std::set<pid_t> noted;
  bool other_namespace = true;
  for (const ThreadState& thread : threads_) {
    const pid_t tid = noted_tid(*this, thread);
    other_namespace = other_namespace && tid != 0 && tid != thread.tid && noted.insert(tid).second;
  }
  for (ThreadState& thread : threads_) {
    thread.target_tid = other_namespace ? noted_tid(*this, thread) : thread.tid;
  }
}

std::optional<std::uint64_t> CoreTarget::blocked_signals(pid_t tid) const {
  const auto& all = core_.notes().threads;
  const auto found = std::find_if(all.begin(), all.end(),
                                  [tid](const CoreThread& thread) { return thread.tid == tid; });
  return found == all.end() ? std::nullopt : std::optional(found->blocked_signals);
}

std::span<const std::byte> CoreTarget::file_bytes_at(std::uint64_t address) const {
  const CoreSegment* segment = core_.find(address);
  if (segment != nullptr && address - segment->start < segment->written) {
    return {};  // the core should hold these bytes but lost them: the file has an older state
  }
  const Mapping* mapping = maps_.find(Addr{address});
  if (mapping == nullptr || mapping->inode == 0) {
    return {};
  }
  const auto bytes = modules_.bytes_at(static_cast<std::size_t>(mapping->inode - 1),
                                       mapping->file_offset + (address - mapping->start));
  return bytes.first(std::min<std::uint64_t>(bytes.size(), mapping->end - address));
}

std::size_t CoreTarget::copy_out(std::uint64_t address, std::span<std::byte> into) const {
  std::size_t done = 0;
  while (done < into.size() && address + done >= address) {
    auto bytes = core_.bytes_at(address + done, into.size() - done);
    if (bytes.empty()) {
      bytes = file_bytes_at(address + done);
    }
    if (bytes.empty()) {
      break;
    }
    const std::size_t count = std::min(bytes.size(), into.size() - done);
    std::memcpy(into.data() + done, bytes.data(), count);
    done += count;
  }
  return done;
}

Status CoreTarget::read(Addr address, std::span<std::byte> into) const {
  if (copy_out(value_of(address), into) == into.size()) {
    return ok();
  }
  return fail(Errc::kBadData, "the core does not hold " + std::to_string(into.size()) +
                                  " bytes of pid " + std::to_string(pid_) + " at address 0x" +
                                  hex_number(value_of(address)));
}

void CoreTarget::read_many(std::span<ReadRequest> requests) const {
  for (ReadRequest& request : requests) {
    request.got = copy_out(value_of(request.address), request.into);
  }
}

Result<UniqueFd> CoreTarget::open_file(const Mapping& mapping) const {
  const std::vector<std::string>& paths = modules_.paths();
  if (mapping.inode == 0 || mapping.inode > paths.size() ||
      paths[static_cast<std::size_t>(mapping.inode - 1)] != mapping.path) {
    return fail(Errc::kNotFound, "no file is behind the mapping " + mapping.path);
  }
  return modules_.open(static_cast<std::size_t>(mapping.inode - 1));
}

Result<ThreadState> CoreTarget::thread(pid_t tid) const {
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [tid](const ThreadState& thread) { return thread.tid == tid; });
  if (found == threads_.end()) {
    return fail(Errc::kGone, "the core has no thread " + std::to_string(tid));
  }
  return *found;
}

std::string CoreTarget::executable() const {
  for (const std::uint64_t key : {std::uint64_t{AT_ENTRY}, std::uint64_t{AT_PHDR}}) {
    const auto address = core_.notes().auxiliary_value(key);
    const Mapping* mapping = address ? maps_.find(Addr{*address}) : nullptr;
    if (mapping != nullptr && mapping->inode != 0) {
      return mapping->path;
    }
  }
  return {};
}

}  // namespace oddrank::attach
