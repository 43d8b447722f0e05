#include "cpython/runtime_scan.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "cpython/layouts/debug_offsets.h"
#include "cpython/objects/attributes.h"
#include "cpython/objects/types.h"
#include "cpython/remote_reader.h"

namespace oddrank::cpython {
namespace {

constexpr std::uint64_t kScanLimit = 16U << 20;  // bytes of one mapping
constexpr int kMostBehind = 16;
constexpr std::size_t kStep = 1U << 16;
constexpr std::size_t kWord = sizeof(std::uint64_t);

struct Region {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
};

// The module's data, and the zeroed memory that the loader puts behind it.
std::vector<Region> writable_regions(const attach::Target& target, const elf::Module& module) {
  std::vector<Region> regions;
  const auto add = [&regions](const attach::Mapping& mapping) {
    if (mapping.writable) {
      regions.push_back({mapping.start, std::min(mapping.end, mapping.start + kScanLimit)});
    }
  };
  std::uint64_t end = module.end;
  for (const attach::Mapping& mapping : target.maps().listed()) {
    if (mapping.start >= module.start && mapping.start < module.end) {
      add(mapping);
    }
  }
  for (int i = 0; i < kMostBehind; ++i) {
    const attach::Mapping* behind = target.maps().find(Addr{end});
    if (behind == nullptr || behind->start != end || !behind->path.empty()) {
      break;
    }
    add(*behind);
    end = behind->end;
  }
  return regions;
}

// Calls `look` with each block of the regions until it returns an address.
template <typename Look>
Addr search(const attach::Target& target, const elf::Module& module, Look look) {
  std::vector<std::byte> block(kStep);
  for (const Region& region : writable_regions(target, module)) {
    for (std::uint64_t at = region.start; at < region.end; at += kStep) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(kStep, region.end - at));
      const std::span<std::byte> part(block.data(), size);
      if (!target.read(Addr{at}, part)) {
        break;
      }
      const Addr found = look(Addr{at}, part);
      if (found != Addr{}) {
        return found;
      }
    }
  }
  return Addr{};
}

std::uint64_t word_at(std::span<const std::byte> bytes, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + offset, kWord);
  return word;
}

// Which words of a block may be pointers to interpreters: heap or the module's own data.
class InterpreterSearch {
 public:
  InterpreterSearch(const attach::Target& target, const Layout& layout)
      : target_(target), layout_(layout), reader_(target) {}

  Addr look(Addr start, std::span<const std::byte> block) {
    std::vector<std::pair<Addr, Addr>> candidates;  // where it stands, what it points to
    for (std::size_t offset = 0; offset + 2 * kWord <= block.size(); offset += kWord) {
      const std::uint64_t head = word_at(block, offset);
      const std::uint64_t main = word_at(block, offset + kWord);
      if (plausible(head) && (head == main || plausible(main))) {
        candidates.emplace_back(start + offset, Addr{head});
      }
    }
    announce(candidates);
    for (const auto& [place, interpreter] : candidates) {
      if (is_interpreter(interpreter) && is_interpreter(reader_.pointer_or_null(place + kWord))) {
        return Addr{value_of(place) - layout_.runtime.interpreters_head};
      }
    }
    return Addr{};
  }

 private:
  bool plausible(std::uint64_t word) const {
    if (word % kWord != 0 || word == 0) {
      return false;
    }
    const attach::Mapping* mapping = target_.maps().find(Addr{word});
    return mapping != nullptr && mapping->writable;
  }

  void announce(const std::vector<std::pair<Addr, Addr>>& candidates) {
    std::vector<RemoteReader::Range> ranges;
    ranges.reserve(candidates.size());
    for (const auto& candidate : candidates) {
      ranges.push_back({candidate.second + layout_.interpreter.threads_head, kWord});
    }
    reader_.prefetch(ranges);
    for (RemoteReader::Range& range : ranges) {
      range.address = reader_.pointer_or_null(range.address) + layout_.thread.interp;
    }
    reader_.prefetch(ranges);
  }

  // Lists that are linked both ways point back, too, as the pools of Python's allocator do; but
  // they have no sys.modules.
  bool is_interpreter(Addr interpreter) {
    const Addr thread = reader_.pointer_or_null(interpreter + layout_.interpreter.threads_head);
    if (thread == Addr{} || interpreter == Addr{} ||
        reader_.pointer_or_null(thread + layout_.thread.interp) != interpreter) {
      return false;
    }
    const Addr sys = find_module(reader_, layout_, interpreter, "sys");
    return type_name(reader_, layout_, sys) == "module";
  }

  const attach::Target& target_;
  const Layout& layout_;
  RemoteReader reader_;
};

}  // namespace

Addr scan_for_cookie(const attach::Target& target, const elf::Module& module) {
  return search(target, module, [](Addr start, std::span<const std::byte> block) {
    for (std::size_t offset = 0; offset + kDebugOffsetsHead <= block.size(); offset += kWord) {
      if (has_debug_offsets(block.subspan(offset))) {
        return start + offset;
      }
    }
    return Addr{};
  });
}

Addr scan_for_interpreters(const attach::Target& target,
                           const elf::Module& module,
                           const Layout& layout) {
  InterpreterSearch interpreters(target, layout);
  return search(target, module, [&](Addr start, std::span<const std::byte> block) {
    return interpreters.look(start, block);
  });
}

}  // namespace oddrank::cpython
