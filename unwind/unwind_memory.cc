#include "unwind/unwind_memory.h"

#include <algorithm>
#include <cstring>

namespace oddrank::unwind {
namespace {

// The rest of a deeper stack is read page by page.
constexpr std::uint64_t kBulk = std::uint64_t{1} << 20;
// The pages of one thread, or of all tables; beyond this they count as unreadable.
constexpr std::size_t kMaxPages = 16384;

}  // namespace

bool UnwindMemory::Bytes::copy_to(std::uint64_t from, std::span<std::byte> into) const {
  if (from < address || from - address > bytes.size() ||
      into.size() > bytes.size() - (from - address)) {
    return false;
  }
  std::memcpy(into.data(), bytes.data() + (from - address), into.size());
  return true;
}

void UnwindMemory::start_thread(std::uint64_t stack_pointer) {
  pages_.clear();
  stacks_.clear();
  read_others_ = false;
  const attach::Mapping* mapping = target_.maps().find(attach::Addr{stack_pointer});
  if (mapping == nullptr) {
    return;
  }
  stack_bytes_.resize(std::min(mapping->end - stack_pointer, kBulk));
  // If it fails, the parts that can be read come in page by page.
  if (target_.read(attach::Addr{stack_pointer}, stack_bytes_)) {
    stacks_.push_back({stack_pointer, stack_bytes_});
  }
}

void UnwindMemory::start_thread(const StackCopy& copy) {
  pages_.clear();
  stacks_.clear();
  read_others_ = false;
  for (const CopiedMemory& memory : copy) {
    stacks_.push_back({memory.address, memory.bytes});
  }
}

std::uint64_t UnwindMemory::hold(std::vector<std::byte> bytes) {
  const std::uint64_t address = next_held_;
  next_held_ += (bytes.size() / kPage + 1) * kPage;
  held_.push_back(std::move(bytes));
  segments_.push_back({address, held_.back()});
  return address;
}

std::optional<std::uint64_t> UnwindMemory::word(std::uint64_t address) {
  std::uint64_t value = 0;
  if (!read(address, std::as_writable_bytes(std::span(&value, 1)))) {
    return std::nullopt;
  }
  return value;
}

bool UnwindMemory::read(std::uint64_t address, std::span<std::byte> into) {
  for (const Bytes& stack : stacks_) {
    if (stack.copy_to(address, into)) {
      return true;
    }
  }
  return read_file(address, into) || read_pages(address, into);
}

bool UnwindMemory::read_file(std::uint64_t address, std::span<std::byte> into) {
  if (last_segment_ < segments_.size() && segments_[last_segment_].copy_to(address, into)) {
    return true;
  }
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    if (segments_[i].copy_to(address, into)) {
      last_segment_ = i;
      return true;
    }
  }
  const elf::Module* module = modules_.find(address);
  if (module == nullptr) {
    return false;
  }
  const auto image = modules_.image_of(*module);
  const auto bias = modules_.load_bias(*module);
  if (!image || !bias) {
    return false;
  }
  for (const elf::ElfSegment& segment : (*image)->segments()) {
    // The mapping's protection does not decide: relocated data also becomes read-only (RELRO), and
    // differs from the file.
    if (segment.writable) {
      continue;
    }
    const Bytes bytes{segment.address + *bias,
                      (*image)->bytes_at(segment.address, segment.file_size)};
    if (bytes.copy_to(address, into)) {
      segments_.push_back(bytes);
      last_segment_ = segments_.size() - 1;
      return true;
    }
  }
  return false;
}

bool UnwindMemory::read_pages(std::uint64_t address, std::span<std::byte> into) {
  read_others_ = read_others_ || !reading_tables_;
  Pages& pages = reading_tables_ ? table_pages_ : pages_;
  while (!into.empty()) {
    const std::uint64_t start = address & ~std::uint64_t{kPage - 1};
    auto page = pages.find(start);
    if (page == pages.end()) {
      std::array<std::byte, kPage> bytes{};
      if (pages.size() >= kMaxPages || !target_.read(attach::Addr{start}, bytes)) {
        return false;
      }
      page = pages.emplace(start, bytes).first;
    }
    const std::size_t from = address - start;
    const std::size_t count = std::min(kPage - from, into.size());
    std::memcpy(into.data(), page->second.data() + from, count);
    into = into.subspan(count);
    address += count;
  }
  return true;
}

}  // namespace oddrank::unwind
