#include "cpython/frame_chain.h"

#include <algorithm>

#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

class ChainReader {
 public:
  ChainReader(RemoteReader& reader, const Layout& layout, Addr newest, std::size_t limit)
      : reader_(reader), layout_(layout), next_(newest), limit_(limit), done_(newest == Addr{}) {}

  bool done() const { return done_; }
  Addr next() const { return next_; }
  FrameChain take() { return std::move(chain_); }

  // Takes one frame in.
  void step() {
    if (steps_ >= limit_ || next_ == anchor_) {
      chain_.cut = true;
      chain_.too_long = next_ != anchor_;
      done_ = true;
      return;
    }
    // Brent: a circle comes back to an anchor that is moved at each power of two.
    if ((steps_ & (steps_ - 1)) == 0) {
      anchor_ = next_;
    }
    ++steps_;
    const auto previous = reader_.pointer(next_ + layout_.frame.previous);
    if (!previous) {
      chain_.cut = true;
      done_ = true;
      return;
    }
    const bool base = *previous == Addr{} && layout_.thread.base_frame != kAbsent;
    if (is_shim()) {
      if (chain_.innermost_shim == Addr{}) {
        chain_.innermost_shim = next_;
      }
      close_loop(!base);
    } else {
      add_frame();
    }
    next_ = *previous;
    if (next_ == Addr{}) {
      done_ = true;
      close_loop(false);
    }
  }

 private:
  bool is_shim() {
    if (layout_.semantics.shim_owner == kNoOwner) {
      return false;
    }
    const auto owner = reader_.value<std::uint8_t>(next_ + layout_.frame.owner);
    return owner.value_or(0) >= layout_.semantics.shim_owner;
  }

  void add_frame() {
    const FrameOffsets& offsets = layout_.frame;
    RawFrame frame;
    frame.address = next_;
    frame.code = without_tags(layout_, reader_.pointer_or_null(next_ + offsets.code));
    if (offsets.tlbc_index != kAbsent) {
      const auto copy = reader_.value<std::int32_t>(next_ + offsets.tlbc_index).value_or(0);
      frame.code_copy = static_cast<std::uint32_t>(std::max(copy, 0));
    }
    if (layout_.semantics.instruction == InstructionFormat::kPointer) {
      frame.instruction = value_of(reader_.pointer_or_null(next_ + offsets.instruction));
    } else {
      const auto index = reader_.value<std::int32_t>(next_ + offsets.instruction);
      frame.instruction = static_cast<std::uint64_t>(std::int64_t{index.value_or(-1)});
    }
    switch (layout_.semantics.entry) {
      case EntryRule::kEvery:
        frame.entry = true;
        break;
      case EntryRule::kFlag:
        frame.entry = reader_.value<std::uint8_t>(next_ + offsets.is_entry).value_or(0) != 0;
        break;
      case EntryRule::kBeforeShim:
        break;
    }
    chain_.frames.push_back(frame);
    loop_has_frame_ = true;
  }

  // The frame added last is the outermost of its loop. `entered`: a loop without frames counts.
  void close_loop(bool entered) {
    if (layout_.semantics.entry != EntryRule::kBeforeShim) {
      return;
    }
    if (loop_has_frame_) {
      chain_.frames.back().entry = true;
    } else if (entered) {
      RawFrame placeholder;
      placeholder.entry = true;
      chain_.frames.push_back(placeholder);
    }
    loop_has_frame_ = false;
  }

  RemoteReader& reader_;
  const Layout& layout_;
  FrameChain chain_;
  Addr next_{};
  Addr anchor_{};
  std::size_t steps_ = 0;
  std::size_t limit_ = 0;
  bool loop_has_frame_ = false;
  bool done_ = false;
};

}  // namespace

std::vector<FrameChain> read_chains(RemoteReader& reader,
                                    const Layout& layout,
                                    std::span<const Addr> newest,
                                    std::size_t limit) {
  std::vector<ChainReader> readers;
  readers.reserve(newest.size());
  for (const Addr frame : newest) {
    readers.emplace_back(reader, layout, frame, limit);
  }
  const std::size_t frame_size = layout.frame.localsplus;
  std::vector<RemoteReader::Range> ranges;
  while (true) {
    ranges.clear();
    for (const ChainReader& chain : readers) {
      if (!chain.done()) {
        ranges.push_back({chain.next(), frame_size});
      }
    }
    if (ranges.empty()) {
      break;
    }
    reader.prefetch(ranges);
    for (ChainReader& chain : readers) {
      if (!chain.done()) {
        chain.step();
      }
    }
  }
  std::vector<FrameChain> chains;
  chains.reserve(readers.size());
  for (ChainReader& chain : readers) {
    chains.push_back(chain.take());
  }
  return chains;
}

}  // namespace oddrank::cpython
