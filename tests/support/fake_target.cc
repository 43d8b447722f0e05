#include "tests/support/fake_target.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace oddrank::test {

using attach::Addr;
using attach::Mapping;
using attach::ReadRequest;
using attach::ThreadState;
using attach::value_of;

void FakeTarget::add_memory(Addr address, std::span<const std::byte> bytes) {
  segments_.push_back(Segment{value_of(address), {bytes.begin(), bytes.end()}});
}

void FakeTarget::add_memory(Addr address, std::string_view bytes) {
  add_memory(address, std::as_bytes(std::span(bytes.data(), bytes.size())));
}

void FakeTarget::add_mapping(Mapping mapping) {
  mappings_.push_back(std::move(mapping));
  maps_ = attach::MemoryMap(mappings_);
}

void FakeTarget::add_file(std::string path, std::string bytes) {
  files_[std::move(path)] = File{std::move(bytes), {}};
}

void FakeTarget::add_real_file(std::string path, std::string real_path) {
  files_[std::move(path)] = File{{}, std::move(real_path)};
}

std::size_t FakeTarget::copy_out(Addr address, std::span<std::byte> into) const {
  const std::uint64_t first = value_of(address);
  std::vector<char> covered(into.size(), 0);
  for (const Segment& segment : segments_) {
    // Neither sum of start and size is made: it might wrap round.
    const std::uint64_t skip = segment.start > first ? segment.start - first : 0;
    const std::uint64_t from = first > segment.start ? first - segment.start : 0;
    if (skip >= into.size() || from >= segment.bytes.size()) {
      continue;
    }
    const std::size_t size = std::min(into.size() - skip, segment.bytes.size() - from);
    std::copy_n(segment.bytes.begin() + static_cast<std::ptrdiff_t>(from), size,
                into.begin() + static_cast<std::ptrdiff_t>(skip));
    std::fill_n(covered.begin() + static_cast<std::ptrdiff_t>(skip), size, 1);
  }
  const auto hole = std::find(covered.begin(), covered.end(), 0);
  return static_cast<std::size_t>(hole - covered.begin());
}

Status FakeTarget::read(Addr address, std::span<std::byte> into) const {
  ++read_calls_;
  read_bytes_ += into.size();
  if (copy_out(address, into) != into.size()) {
    return fail(Errc::kBadData, "fake target: cannot read " + std::to_string(into.size()) +
                                    " bytes at address " + std::to_string(value_of(address)));
  }
  return ok();
}

void FakeTarget::read_many(std::span<ReadRequest> requests) const {
  ++read_calls_;
  for (ReadRequest& request : requests) {
    read_bytes_ += request.into.size();
    request.got = copy_out(request.address, request.into);
  }
}

Result<UniqueFd> FakeTarget::open_file(const Mapping& mapping) const {
  const auto found = files_.find(mapping.path);
  if (found == files_.end()) {
    return fail(Errc::kNotFound, "fake target: no file " + mapping.path);
  }
  if (!found->second.real_path.empty()) {
    UniqueFd fd(::open(found->second.real_path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
    if (!fd.valid()) {
      return fail(errno_code(errno), "cannot open " + found->second.real_path);
    }
    return fd;
  }
  UniqueFd fd(::memfd_create("fake_target", MFD_CLOEXEC));
  const std::string& bytes = found->second.bytes;
  if (!fd.valid() ||
      ::write(fd.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      ::lseek(fd.get(), 0, SEEK_SET) != 0) {
    return fail(Errc::kIo, "fake target: cannot make a memfd");
  }
  return fd;
}

Result<std::vector<ThreadState>> FakeTarget::threads() const {
  std::vector<ThreadState> seen = threads_;
  for (ThreadState& state : seen) {
    if (on_look_) {
      on_look_(state);
    }
  }
  return seen;
}

Result<ThreadState> FakeTarget::thread(pid_t tid) const {
  const auto found = std::find_if(threads_.begin(), threads_.end(),
                                  [tid](const ThreadState& state) { return state.tid == tid; });
  if (found == threads_.end()) {
    return fail(Errc::kGone, "fake target: no thread " + std::to_string(tid));
  }
  ThreadState seen = *found;
  if (on_look_) {
    on_look_(seen);
  }
  return seen;
}

Result<attach::Stop> FakeTarget::while_stopped(
    std::span<const ThreadState> threads,
    std::chrono::milliseconds patience,
    const std::function<void(std::span<const attach::StopAttempt>)>& look) const {
  if (!on_stop_) {
    return Target::while_stopped(threads, patience, look);
  }
  attach::Stop stop;
  std::vector<pid_t>& tids = stops_.emplace_back();
  for (const ThreadState& thread : threads) {
    tids.push_back(thread.tid);
    attach::StopAttempt attempt{thread, attach::StopEnd::kHeld, {}};
    attempt.end = on_stop_(attempt.thread);
    attempt.why = attempt.end == attach::StopEnd::kTraced ? "it is traced by gdb (pid 77)" : "";
    stop.held += attempt.end == attach::StopEnd::kHeld ? 1 : 0;
    stop.threads.push_back(std::move(attempt));
  }
  if (stop.held != 0) {
    look(stop.threads);
    stop.took = std::chrono::microseconds(250);
  }
  return stop;
}

}  // namespace oddrank::test
