#include "stacks/cpython/remote_reader.h"

#include <algorithm>
#include <cstring>

namespace oddrank::stacks::cpython {
namespace {

constexpr std::size_t kRangeLimit = std::size_t{64} << 10;
// User space ends below 2^47 (2^56 with five-level paging, which nobody gets unasked); the first
// page is never mapped. Saves a system call for each garbage pointer.
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kLowest = kPageBytes;
constexpr std::uint64_t kHighest = std::uint64_t{1} << 47;

// Lists and stacks are followed step by step, and their members were mostly made one after another:
// who comes from a neighbouring page will want the next ones. `there` tells which pages are known.
template <typename IsThere>
std::vector<std::uint64_t> with_next(std::span<const std::uint64_t> numbers, const IsThere& there) {
  constexpr std::uint64_t kAhead = 3;
  constexpr std::size_t kFew = 64;  // more at once are no steps
  constexpr std::uint64_t kFirst = kLowest / kPageBytes;
  constexpr std::uint64_t kLast = kHighest / kPageBytes - 1;
  std::vector<std::uint64_t> all(numbers.begin(), numbers.end());
  for (const std::uint64_t number : numbers.first(numbers.size() > kFew ? 0 : numbers.size())) {
    for (std::uint64_t i = 1; i <= kAhead; ++i) {
      if (there(number - 1) && number + i <= kLast) {
        all.push_back(number + i);
      }
      if (there(number + 1) && number >= kFirst + i) {
        all.push_back(number - i);
      }
    }
  }
  all.erase(std::remove_if(all.begin(), all.end(), there), all.end());
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

}  // namespace

void RemoteReader::fetch(std::span<const std::uint64_t> wanted) {
  const std::vector<std::uint64_t> numbers =
      with_next(wanted, [this](std::uint64_t number) { return pages_.contains(number); });
  if (pages_.size() + numbers.size() > kPageLimit) {
    pages_.clear();
  }
  std::vector<attach::ReadRequest> requests;
  requests.reserve(numbers.size());
  for (const std::uint64_t number : numbers) {
    auto& slot = pages_[number];
    slot = std::make_unique<Page>();
    requests.push_back({Addr{number * kPageSize}, slot->bytes, 0});
  }
  target_.read_many(requests);
  ++calls_;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    pages_[numbers[i]]->got = requests[i].got;
  }
}

void RemoteReader::prefetch(std::span<const Range> ranges) {
  std::vector<std::uint64_t> missing;
  for (const Range& range : ranges) {
    const std::uint64_t start = value_of(range.address);
    if (start < kLowest || start >= kHighest || range.size == 0) {
      continue;
    }
    const std::uint64_t last = start + std::min(range.size, kRangeLimit) - 1;
    for (std::uint64_t number = start / kPageSize; number <= last / kPageSize; ++number) {
      if (!pages_.contains(number)) {
        missing.push_back(number);
      }
    }
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.size() > kPageLimit) {
    missing.resize(kPageLimit);
  }
  if (!missing.empty()) {
    fetch(missing);
  }
}

const RemoteReader::Page* RemoteReader::page(std::uint64_t number) {
  auto found = pages_.find(number);
  if (found == pages_.end()) {
    fetch(std::span(&number, 1));
    found = pages_.find(number);
  }
  return found->second.get();
}

bool RemoteReader::read(Addr address, std::span<std::byte> into) {
  const std::uint64_t start = value_of(address);
  if (start < kLowest || start >= kHighest || into.size() > kHighest - start) {
    return false;
  }
  for (std::size_t done = 0; done < into.size();) {
    const std::uint64_t at = start + done;
    const std::size_t offset = at % kPageSize;
    const std::size_t count = std::min(into.size() - done, std::size_t{kPageSize} - offset);
    const Page* page = this->page(at / kPageSize);
    if (offset + count > page->got) {
      // The page's start is not to be had, perhaps these bytes are (a core file cuts anywhere).
      ++calls_;
      return target_.read(address, into).has_value();
    }
    std::memcpy(into.data() + done, page->bytes.data() + offset, count);
    done += count;
  }
  return true;
}

std::optional<std::vector<std::byte>> RemoteReader::bytes(Addr address, std::size_t size) {
  std::vector<std::byte> result(size);
  if (!read(address, result)) {
    return std::nullopt;
  }
  return result;
}

}  // namespace oddrank::stacks::cpython
