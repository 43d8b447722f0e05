// Source: wait() of Lib/multiprocessing/connection.py. Its `selector` has each object under its
// descriptor (Lib/selectors.py: `_fd_to_key`): connections and sockets are objects, a sentinel is a
// mere number.
#include "waits/python/process_ends.h"

#include <algorithm>
#include <set>

#include "cpython/objects/attributes.h"
#include "cpython/objects/dicts.h"
#include "cpython/objects/scalars.h"
#include "waits/frame_pattern.h"
#include "waits/python/frame_values.h"

namespace oddrank::waits {
namespace {

using attach::Addr;
using cpython::PythonSample;
using cpython::SampledThread;

constexpr FramePattern kWaitsForObjects{"wait", "multiprocessing/connection.py"};
constexpr std::size_t kMaxFramesInside = 2;  // of selectors.py, inside wait()
constexpr std::size_t kMaxObjects = 1024;    // of one call

std::set<std::int64_t> sentinels_in(cpython::PythonMemory& memory, Addr selector) {
  std::set<std::int64_t> sentinels;
  const Addr keys = cpython::read_attribute(memory, selector, "_fd_to_key");
  for (const cpython::DictItem& item : cpython::read_dict(memory, keys, kMaxObjects)) {
    const Addr object = memory.pointer_or_null(item.value + memory.layout().object.tuple_items);
    const auto number = cpython::read_int(memory, object);
    if (number && number == cpython::read_int(memory, item.key)) {
      sentinels.insert(*number);
    }
  }
  return sentinels;
}

std::set<std::int64_t> sentinels_of(PythonSample& python,
                                    FrameValues& values,
                                    const SampledThread& thread) {
  const auto& frames = thread.frames;
  for (std::size_t at = 0; at < std::min(frames.size(), kMaxFramesInside + 1); ++at) {
    const cpython::CodeObject& code = python.code(frames[at]);
    if (matches(kWaitsForObjects, code.function, code.file)) {
      const Addr selector = values.local(frames[at], "selector");
      return selector == Addr{} ? std::set<std::int64_t>()
                                : sentinels_in(python.memory(), selector);
    }
  }
  return {};
}

}  // namespace

void read_process_ends(PythonWaits& all) {
  FrameValues values(all.python);
  for (std::size_t i = 0; i < all.waits.size(); ++i) {
    const auto* thread = all.waits[i].awaited.empty() ? nullptr : all.thread(i);
    if (thread == nullptr) {
      continue;
    }
    const std::set<std::int64_t> sentinels = sentinels_of(all.python, values, *thread);
    all.waits[i].awaited_ends = sentinels.size();
    for (NamedFile& file : all.waits[i].awaited) {
      file.tells_end = sentinels.contains(file.fd);
    }
  }
}

}  // namespace oddrank::waits
