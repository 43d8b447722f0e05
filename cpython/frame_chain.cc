#include "cpython/frame_chain.h"

#include <algorithm>

#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

class ChainReader {
 public:
  ChainReader(PythonMemory& memory, Addr newest, std::size_t limit)
      : memory_(memory), next_(newest), limit_(limit), done_(newest == Addr{}) {
    chain_.whole = done_;
  }

  bool done() const { return done_; }
  Addr next() const { return next_; }
  FrameChain take() { return std::move(chain_); }

  // Reads one frame.
  void step();

 private:
  bool is_shim();
  bool is_compiled();
  void add_frame(Addr previous);
  // Marks the frame added last as the outermost of its loop. `entered`: if the loop has no frame,
  // adds a placeholder.
  void close_loop(bool entered);

  PythonMemory& memory_;
  FrameChain chain_;
  Addr next_{};
  Addr anchor_{};
  std::size_t steps_ = 0;
  std::size_t limit_ = 0;
  Addr type_{};  // of the frame that is_compiled saw last
  bool type_is_compiled_ = false;
  bool loop_has_frame_ = false;
  bool done_ = false;
};

void ChainReader::step() {
  const Layout& layout = memory_.layout();
  if (steps_ >= limit_ || next_ == anchor_) {
    chain_.cut = true;
    chain_.too_long = next_ != anchor_;
    done_ = true;
    return;
  }
  // Brent's algorithm: a cycle returns to an anchor that moves at each power of two.
  if ((steps_ & (steps_ - 1)) == 0) {
    anchor_ = next_;
  }
  ++steps_;
  const auto previous = memory_.pointer(next_ + layout.frame.previous);
  if (!previous) {
    chain_.cut = true;
    done_ = true;
    return;
  }
  const bool base = *previous == Addr{} && layout.thread.base_frame != kAbsent;
  const bool shim = is_shim();
  if (shim) {
    if (chain_.innermost_shim == Addr{}) {
      chain_.innermost_shim = next_;
    }
    close_loop(!base);
  } else {
    add_frame(*previous);
  }
  next_ = *previous;
  if (next_ == Addr{}) {
    done_ = true;
    close_loop(false);
    chain_.whole = shim || (layout.semantics.entry != EntryRule::kBeforeShim &&
                            !chain_.frames.empty() && chain_.frames.back().entry);
  }
}

bool ChainReader::is_shim() {
  const Layout& layout = memory_.layout();
  if (layout.semantics.shim_owner == kNoOwner) {
    return false;
  }
  const auto owner = memory_.value<std::uint8_t>(next_ + layout.frame.owner);
  return owner.value_or(0) >= layout.semantics.shim_owner;
}

// Up to 3.10 each frame is an object, and Nuitka gives its own another type.
bool ChainReader::is_compiled() {
  const Addr type = type_of(memory_, next_);
  if (type != type_) {
    type_ = type;
    type_is_compiled_ = name_of_type(memory_, type) == "compiled_frame";
  }
  return type_is_compiled_;
}

void ChainReader::add_frame(Addr previous) {
  const Layout& layout = memory_.layout();
  const FrameOffsets& offsets = layout.frame;
  RawFrame frame;
  frame.address = next_;
  frame.previous = previous;
  frame.code = without_tags(layout, memory_.pointer_or_null(next_ + offsets.code));
  frame.object =
      offsets.object == kAbsent ? next_ : memory_.pointer_or_null(next_ + offsets.object);
  if (offsets.tlbc_index != kAbsent) {
    const auto copy = memory_.value<std::int32_t>(next_ + offsets.tlbc_index).value_or(0);
    frame.code_copy = static_cast<std::uint32_t>(std::max(copy, 0));
  }
  if (layout.semantics.instruction == InstructionFormat::kPointer) {
    frame.instruction = value_of(memory_.pointer_or_null(next_ + offsets.instruction));
  } else {
    const auto index = memory_.value<std::int32_t>(next_ + offsets.instruction);
    frame.instruction = static_cast<std::uint64_t>(std::int64_t{index.value_or(-1)});
  }
  switch (layout.semantics.entry) {
    case EntryRule::kEvery:
      frame.entry = !is_compiled();
      break;
    case EntryRule::kFlag:
      frame.entry = memory_.value<std::uint8_t>(next_ + offsets.is_entry).value_or(0) != 0;
      break;
    case EntryRule::kBeforeShim:
      break;
  }
  chain_.frames.push_back(frame);
  loop_has_frame_ = true;
}

void ChainReader::close_loop(bool entered) {
  if (memory_.layout().semantics.entry != EntryRule::kBeforeShim) {
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

}  // namespace

std::vector<FrameChain> read_chains(PythonMemory& memory,
                                    std::span<const Addr> newest,
                                    std::size_t limit) {
  std::vector<ChainReader> readers;
  readers.reserve(newest.size());
  for (const Addr frame : newest) {
    readers.emplace_back(memory, frame, limit);
  }
  const std::size_t frame_size = memory.layout().frame.localsplus;
  std::vector<PythonMemory::Range> ranges;
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
    memory.prefetch(ranges);
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

RawFrame frame_of_generator(PythonMemory& memory, Addr generator) {
  const GeneratorOffsets& offsets = memory.layout().generator;
  const Addr field = generator + offsets.frame;
  const Addr address = offsets.state != kAbsent ? field : memory.pointer_or_null(field);
  const auto read = address == Addr{} ? std::vector<FrameChain>()
                                      : read_chains(memory, std::span(&address, 1), 1);
  return read.empty() || read.front().frames.empty() ? RawFrame() : read.front().frames.front();
}

}  // namespace oddrank::cpython
