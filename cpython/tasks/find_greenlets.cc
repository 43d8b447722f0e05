// Sources: greenlet's greenlet_greenlet.hpp and TPythonState.hpp of 2.0 to 3.5 (PyGreenlet::pimpl,
// PythonState::_top_frame), Include/cpython/object.h (tp_base), Python/gc.c (PyGC_Head).
#include "cpython/tasks/find_greenlets.h"

#include <algorithm>
#include <unordered_map>

#include "base/base_name.h"
#include "cpython/objects/types.h"

namespace oddrank::cpython {
namespace {

constexpr std::uint32_t kLinkSize = 16;        // of PyGC_Head, in front of each object
constexpr std::uint64_t kLinkFlags = 3;        // bits of its pointers
constexpr std::uint32_t kImplementation = 16;  // PyGreenlet::pimpl, behind the object's header
constexpr std::uint32_t kMaxWords = 24;        // of the implementation, searched for the frame
constexpr int kMaxBases = 16;

class GreenletSearch {
 public:
  explicit GreenletSearch(PythonMemory& memory) : memory_(memory) {}

  // Adds the frames of the greenlets in one list, which begins and ends at its head.
  void search(Addr head);
  std::vector<Addr> take() { return std::move(frames_); }

 private:
  bool is_greenlet(Addr type);
  // Returns the newest frame of a parked one; null if it runs, or has ended or not begun.
  Addr frame_of(Addr greenlet);

  PythonMemory& memory_;
  std::unordered_map<std::uint64_t, bool> types_;
  std::size_t budget_ = kMaxCollectedObjects;
  std::vector<Addr> frames_;
};

bool GreenletSearch::is_greenlet(Addr type) {
  const auto [known, is_new] = types_.try_emplace(value_of(type), false);
  if (!is_new) {
    return known->second;
  }
  // tp_base, tp_dict and two functions stand in front of tp_dictoffset.
  const std::uint32_t base_offset =
      memory_.layout().object.type_dict_offset - 4 * static_cast<std::uint32_t>(kPointerSize);
  Addr base = type;
  for (int i = 0; i < kMaxBases && base != Addr{}; ++i) {
    if (name_of_type(memory_, base) == "greenlet.greenlet") {
      return known->second = true;
    }
    base = memory_.pointer_or_null(base + base_offset);
  }
  return false;
}

Addr GreenletSearch::frame_of(Addr greenlet) {
  const Layout& layout = memory_.layout();
  const Addr own = memory_.pointer_or_null(greenlet + layout.object.head + kImplementation);
  for (std::uint32_t i = 0; own != Addr{} && i < kMaxWords; ++i) {
    const Addr object = memory_.pointer_or_null(own + i * kPointerSize);
    if (object != Addr{} && type_name(memory_, object) == "frame") {
      // From 3.11 on a frame object refers to the frame proper, behind the object of its caller.
      return layout.semantics.instruction == InstructionFormat::kPointer
                 ? memory_.pointer_or_null(object + layout.object.head + kPointerSize)
                 : object;
    }
  }
  return Addr{};
}

void GreenletSearch::search(Addr head) {
  const std::uint32_t type = memory_.layout().object.type;
  Addr link = memory_.pointer_or_null(head);
  while (link != Addr{} && link != head && budget_ > 0 && frames_.size() < kMaxGreenlets) {
    --budget_;
    const Addr object = link + kLinkSize;
    if (is_greenlet(memory_.pointer_or_null(object + type))) {
      if (const Addr frame = frame_of(object); frame != Addr{}) {
        frames_.push_back(frame);
      }
    }
    link = Addr{value_of(memory_.pointer_or_null(link)) & ~kLinkFlags};
  }
}

bool has_greenlets(const elf::ModuleMap& modules) {
  const auto& all = modules.modules();
  return std::any_of(all.begin(), all.end(), [](const elf::Module& module) {
    return base_name(module.path).starts_with("_greenlet.");
  });
}

}  // namespace

std::vector<Addr> find_parked_frames(PythonMemory& memory,
                                     const std::vector<InterpreterRow>& interpreters,
                                     const elf::ModuleMap& modules) {
  if (!has_greenlets(modules)) {
    return {};
  }
  GreenletSearch search(memory);
  for (const InterpreterRow& interpreter : interpreters) {
    const Addr first = find_generations(memory, interpreter.collecting);
    for (std::uint32_t i = 0; i < kGenerations && first != Addr{}; ++i) {
      search.search(first + i * kGenerationSize);
    }
  }
  return search.take();
}

}  // namespace oddrank::cpython
