#include "attach/in_memory_target.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "attach/proc_stat.h"

namespace oddrank::attach {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::size_t kMaxPages = 64;  // of one read
// Documentation/admin-guide/mm/pagemap.rst: a word a page, whose highest bit says "present".
constexpr std::uint64_t kPresent = std::uint64_t{1} << 63;

}  // namespace

InMemoryTarget::InMemoryTarget(const Target& target, std::function<bool(const Mapping&)> may_open)
    : target_(target),
      may_open_(std::move(may_open)),
      pages_(::open((process_folder(target.pid()) + "/pagemap").c_str(), O_RDONLY | O_CLOEXEC)) {}

bool InMemoryTarget::is_resident(Addr address, std::size_t size) const {
  const auto begin = static_cast<std::uint64_t>(address);
  if (!pages_.valid() || size == 0 || begin > std::numeric_limits<std::int64_t>::max() - size) {
    return size == 0;
  }
  const std::uint64_t first = begin / kPage;
  const std::uint64_t count = (begin + size - 1) / kPage - first + 1;
  if (count > kMaxPages) {
    return false;
  }
  std::vector<std::uint64_t> pages(count);
  const auto wanted = static_cast<ssize_t>(count * sizeof(std::uint64_t));
  return ::pread(pages_.get(), pages.data(), static_cast<std::size_t>(wanted),
                 static_cast<off_t>(first * sizeof(std::uint64_t))) == wanted &&
         std::all_of(pages.begin(), pages.end(),
                     [](std::uint64_t page) { return (page & kPresent) != 0; });
}

Status InMemoryTarget::read(Addr address, std::span<std::byte> into) const {
  if (!is_resident(address, into.size())) {
    return fail(Errc::kNotFound, "the bytes are not in memory");
  }
  return target_.read(address, into);
}

void InMemoryTarget::read_many(std::span<ReadRequest> requests) const {
  for (ReadRequest& request : requests) {
    request.got = read(request.address, request.into) ? request.into.size() : 0;
  }
}

Result<UniqueFd> InMemoryTarget::open_file(const Mapping& mapping) const {
  if (may_open_ && may_open_(mapping)) {
    return target_.open_file(mapping);
  }
  return fail(Errc::kUnsupported, mapping.path + " is not opened, only what is in memory is read");
}

}  // namespace oddrank::attach
