#include "cpython/remote_reader.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

namespace oddrank::cpython {
namespace {

constexpr std::size_t kMaxRangeSize = std::size_t{64} << 10;
// User space ends at 2^47, and with five-level page tables at 2^56; the first page is never mapped.
// These bounds save a system call for most garbage pointers.
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kLowest = kPageBytes;
constexpr std::uint64_t kHighest = std::uint64_t{1} << 56;

// Adds the pages that will probably be read next. Lists and stacks are followed step by step, and
// most of their members were allocated one after another: if a neighbouring page is known, the walk
// continues in the same direction. `there` returns whether a page is known.
template <typename IsThere>
std::vector<std::uint64_t> with_next(std::span<const std::uint64_t> numbers, const IsThere& there) {
  constexpr std::uint64_t kAhead = 3;
  constexpr std::size_t kMaxSteps = 64;  // a walk does not need more at once
  constexpr std::uint64_t kFirst = kLowest / kPageBytes;
  constexpr std::uint64_t kLast = kHighest / kPageBytes - 1;
  std::vector<std::uint64_t> all(numbers.begin(), numbers.end());
  for (const std::uint64_t number :
       numbers.first(numbers.size() > kMaxSteps ? 0 : numbers.size())) {
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

std::size_t slot_of(std::uint64_t number, std::size_t slots) {
  constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15;  // 2^64 / the golden ratio: spreads bits
  return static_cast<std::size_t>(number * kGolden >> 32) & (slots - 1);
}

// Returns the blocks that no reader uses now. Its capacity does not change: 4 MiB of blocks.
std::vector<std::byte*>& spare_blocks() {
  constexpr std::size_t kMaxSpare = 64;
  // Never destroyed: readers may live as long as the program.
  thread_local std::vector<std::byte*>* const spare = [] {
    auto* const blocks = new std::vector<std::byte*>();
    blocks->reserve(kMaxSpare);
    return blocks;
  }();
  return *spare;
}

}  // namespace

RemoteReader::Block::Block() {
  if (std::vector<std::byte*>& spare = spare_blocks(); !spare.empty()) {
    bytes_ = spare.back();
    spare.pop_back();
    return;
  }
  void* memory = ::mmap(nullptr, kBlockPages * kPageSize, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) {  // NOLINT: the macro has a cast
    throw std::bad_alloc();    // as if it came from operator new
  }
  bytes_ = static_cast<std::byte*>(memory);
}

RemoteReader::Block::~Block() {
  if (bytes_ == nullptr) {
    return;
  }
  if (std::vector<std::byte*>& spare = spare_blocks(); spare.size() < spare.capacity()) {
    spare.push_back(bytes_);
  } else {
    ::munmap(bytes_, kBlockPages * kPageSize);
  }
}

std::uint32_t RemoteReader::find(std::uint64_t number) const {
  if (index_.empty()) {
    return kNoPage;
  }
  std::size_t slot = slot_of(number, index_.size());
  while (index_[slot] != kNoPage && pages_[index_[slot]].number != number) {
    slot = (slot + 1) & (index_.size() - 1);
  }
  return index_[slot];
}

void RemoteReader::add(std::uint64_t number) {
  constexpr std::size_t kSlots = 512;  // initial size
  const auto place = [this](std::size_t page) {
    std::size_t slot = slot_of(pages_[page].number, index_.size());
    while (index_[slot] != kNoPage) {
      slot = (slot + 1) & (index_.size() - 1);
    }
    index_[slot] = static_cast<std::uint32_t>(page);
  };
  pages_.push_back({number, 0, false});
  if (blocks_.size() * kBlockPages < pages_.size()) {
    blocks_.emplace_back();
  }
  if (2 * pages_.size() <= index_.size()) {
    place(pages_.size() - 1);
    return;
  }
  index_.assign(std::max(kSlots, 2 * index_.size()), kNoPage);
  for (std::size_t page = 0; page < pages_.size(); ++page) {
    place(page);
  }
}

std::byte* RemoteReader::bytes_of(std::size_t page) {
  return blocks_[page / kBlockPages].bytes() + page % kBlockPages * kPageSize;
}

void RemoteReader::forget() {
  pages_.clear();
  last_ = {};
  std::fill(index_.begin(), index_.end(), kNoPage);
}

void RemoteReader::fetch(std::span<const std::uint64_t> numbers) {
  if (pages_.size() + numbers.size() > kMaxPages) {
    forget();
  }
  const std::size_t first = pages_.size();
  std::vector<attach::ReadRequest> requests;
  requests.reserve(numbers.size());
  for (const std::uint64_t number : numbers) {
    add(number);
    const std::size_t page = pages_.size() - 1;
    requests.push_back({Addr{number * kPageSize}, std::span(bytes_of(page), kPageSize), 0});
  }
  target_.read_many(requests);
  ++calls_;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    pages_[first + i].got = requests[i].got;
  }
}

// Pages that were read whole last time and are adjacent, in the target and here, become one
// request, which takes the kernel half as long. If one of them is gone by now, the pages after it
// count as unread; then they are read piece by piece, and separately the next time.
void RemoteReader::refresh() {
  std::vector<Page> wanted;
  std::copy_if(pages_.begin(), pages_.end(), std::back_inserter(wanted),
               [](const Page& page) { return page.used; });
  std::sort(wanted.begin(), wanted.end(),
            [](const Page& a, const Page& b) { return a.number < b.number; });
  forget();
  std::vector<attach::ReadRequest> requests;
  requests.reserve(wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    add(wanted[i].number);
    const bool joins = i > 0 && i % kBlockPages != 0 && wanted[i].got == kPageSize &&
                       wanted[i - 1].got == kPageSize &&
                       wanted[i].number == wanted[i - 1].number + 1;
    if (joins) {
      auto& into = requests.back().into;
      into = std::span(into.data(), into.size() + kPageSize);
    } else {
      requests.push_back(
          {Addr{wanted[i].number * kPageSize}, std::span(bytes_of(i), kPageSize), 0});
    }
  }
  if (requests.empty()) {
    return;
  }
  target_.read_many(requests);
  ++calls_;
  std::size_t page = 0;
  for (const attach::ReadRequest& request : requests) {
    for (std::size_t done = 0; done < request.into.size(); done += kPageSize, ++page) {
      pages_[page].got =
          std::min<std::size_t>(kPageSize, request.got - std::min(done, request.got));
    }
  }
}

void RemoteReader::prefetch(std::span<const Range> ranges) {
  std::vector<std::uint64_t> missing;
  for (const Range& range : ranges) {
    const std::uint64_t start = value_of(range.address);
    if (start < kLowest || start >= kHighest || range.size == 0) {
      continue;
    }
    const std::uint64_t last = start + std::min(range.size, kMaxRangeSize) - 1;
    for (std::uint64_t number = start / kPageSize; number <= last / kPageSize; ++number) {
      if (find(number) == kNoPage) {
        missing.push_back(number);
      }
    }
  }
  if (missing.empty()) {
    return;
  }
  std::sort(missing.begin(), missing.end());
  missing.erase(std::unique(missing.begin(), missing.end()), missing.end());
  if (missing.size() > kMaxPages) {
    missing.resize(kMaxPages);
  }
  fetch(with_next(missing, [this](std::uint64_t number) { return find(number) != kNoPage; }));
}

std::uint32_t RemoteReader::find_or_fetch(std::uint64_t number) {
  const std::uint32_t known = find(number);
  if (known != kNoPage) {
    return known;
  }
  fetch(with_next(std::span(&number, 1),
                  [this](std::uint64_t other) { return find(other) != kNoPage; }));
  return find(number);
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
    const std::uint32_t page = find_or_fetch(at / kPageSize);
    pages_[page].used = true;
    last_ = {pages_[page].number, pages_[page].got, bytes_of(page)};
    if (offset + count > pages_[page].got) {
      // The page could not be read up to here; these bytes may still be readable (a core file can
      // end anywhere).
      ++calls_;
      return target_.read(address, into).has_value();
    }
    std::memcpy(into.data() + done, bytes_of(page) + offset, count);
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

}  // namespace oddrank::cpython
