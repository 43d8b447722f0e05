#include "cpython/runtime_scan.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "cpython/layouts/debug_offsets.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::uint64_t kMaxScannedBytes = 16U << 20;  // bytes of one mapping
constexpr int kMaxMappingsBehind = 16;
constexpr std::size_t kStep = 1U << 16;

struct Region {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

// Returns the module's data, and the zeroed memory that the loader maps after it.
std::vector<Region> writable_regions(const attach::Target& target, const elf::Module& module) {
  std::vector<Region> regions;
  const auto add = [&regions](const attach::Mapping& mapping) {
    if (mapping.writable) {
      regions.push_back({mapping.start, std::min(mapping.end, mapping.start + kMaxScannedBytes)});
    }
  };
  std::uint64_t end = module.end;
  for (const attach::Mapping& mapping : target.maps().listed()) {
    if (mapping.start >= module.start && mapping.start < module.end) {
      add(mapping);
    }
  }
  for (int i = 0; i < kMaxMappingsBehind; ++i) {
    const attach::Mapping* behind = target.maps().find(Addr{end});
    if (behind == nullptr || behind->start != end || !behind->path.empty()) {
      break;
    }
    add(*behind);
    end = behind->end;
  }
  return regions;
}

// Calls `find_in` with each block of the regions until it returns an address.
template <typename FindIn>
Addr search(const attach::Target& target, const elf::Module& module, FindIn find_in) {
  std::vector<std::byte> block(kStep);
  for (const Region& region : writable_regions(target, module)) {
    for (std::uint64_t at = region.start; at < region.end; at += kStep) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kStep, region.end - at));
      const std::span<std::byte> part(block.data(), size);
      if (!target.read(Addr{at}, part)) {
        break;
      }
      const Addr found = find_in(Addr{at}, part);
      if (found != Addr{}) {
        return found;
      }
    }
  }
  return Addr{};
}

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, kPointerSize);
  return word;
}

// Finds the pointers to interpreters in blocks of the module's data.
class InterpreterSearch {
 public:
  explicit InterpreterSearch(PythonMemory& memory) : memory_(memory) {}

  // Returns the address of the runtime whose interpreters the block points to; null if there is
  // none.
  Addr find_in(Addr start, std::span<const std::byte> block);

 private:
  // Returns whether the word may point to an interpreter, on the heap or in the module's own data.
  bool plausible(std::uint64_t word) const;
  // Fetches what is_interpreter will need of the candidates.
  void prefetch(const std::vector<std::pair<Addr, Addr>>& candidates);
  // Returns whether its first thread state points back and sys.modules has `sys`. (Doubly linked
  // lists and the pools of Python's allocator also point back, but they have no sys.modules.)
  bool is_interpreter(Addr interpreter);

  PythonMemory& memory_;
};

Addr InterpreterSearch::find_in(Addr start, std::span<const std::byte> block) {
  std::vector<std::pair<Addr, Addr>> candidates;  // the word's address, and the address in it
  for (std::size_t offset = 0; offset + 2 * kPointerSize <= block.size(); offset += kPointerSize) {
    const std::uint64_t head = word_at(block, offset);
    const std::uint64_t main = word_at(block, offset + kPointerSize);
    if (plausible(head) && (head == main || plausible(main))) {
      candidates.emplace_back(start + offset, Addr{head});
    }
  }
  prefetch(candidates);
  for (const auto& [place, interpreter] : candidates) {
    if (is_interpreter(interpreter) &&
        is_interpreter(memory_.pointer_or_null(place + kPointerSize))) {
      return Addr{value_of(place) - memory_.layout().runtime.interpreters_head};
    }
  }
  return Addr{};
}

bool InterpreterSearch::plausible(std::uint64_t word) const {
  if (word % kPointerSize != 0 || word == 0) {
    return false;
  }
  const attach::Mapping* mapping = memory_.target().maps().find(Addr{word});
  return mapping != nullptr && mapping->writable;
}

void InterpreterSearch::prefetch(const std::vector<std::pair<Addr, Addr>>& candidates) {
  const Layout& layout = memory_.layout();
  std::vector<PythonMemory::Range> ranges;
  ranges.reserve(candidates.size());
  for (const auto& candidate : candidates) {
    ranges.push_back({candidate.second + layout.interpreter.threads_head, kPointerSize});
  }
  memory_.prefetch(ranges);
  for (PythonMemory::Range& range : ranges) {
    range.address = memory_.pointer_or_null(range.address) + layout.thread.interp;
  }
  memory_.prefetch(ranges);
}

bool InterpreterSearch::is_interpreter(Addr interpreter) {
  const Layout& layout = memory_.layout();
  const Addr thread = memory_.pointer_or_null(interpreter + layout.interpreter.threads_head);
  if (thread == Addr{} || interpreter == Addr{} ||
      memory_.pointer_or_null(thread + layout.thread.interp) != interpreter) {
    return false;
  }
  const Addr sys = find_module(memory_, interpreter, "sys");
  return type_name(memory_, sys) == "module";
}

}  // namespace

Addr scan_for_cookie(const attach::Target& target, const elf::Module& module) {
  return search(target, module, [](Addr start, std::span<const std::byte> block) {
    for (std::size_t offset = 0; offset + kDebugOffsetsHead <= block.size();
         offset += kPointerSize) {
      if (has_debug_offsets(block.subspan(offset))) {
        return start + offset;
      }
    }
    return Addr{};
  });
}

Addr scan_for_interpreters(PythonMemory& memory, const elf::Module& module) {
  InterpreterSearch interpreters(memory);
  return search(memory.target(), module, [&](Addr start, std::span<const std::byte> block) {
    return interpreters.find_in(start, block);
  });
}

}  // namespace oddrank::cpython
