#include "aggregate/view/python_waits.h"

namespace oddrank::aggregate {
namespace {

// Returns whether the file is of the standard library: a program or a package may have a queue.py
// of its own.
bool is_standard(std::string_view file) {
  return file.find("/lib/python3") != std::string_view::npos &&
         file.find("/site-packages/") == std::string_view::npos &&
         file.find("/dist-packages/") == std::string_view::npos;
}

// Names have no class up to Python 3.10: a plain wait() is identified by the function that it
// calls. The wait() of events and barriers calls that of a condition.
std::string_view words_around(std::string_view inner, const FramePattern& outer) {
  const bool plain = outer.file == "/threading.py" && outer.function == "wait$";
  return !plain || inner.empty()      ? outer.words
         : inner.ends_with("Barrier") ? inner
                                      : "waits for a threading.Event";
}

}  // namespace

std::string_view python_wait_words(FrameModel& model, const snapshot::ThreadSample& sample) {
  std::string_view words;
  for (const snapshot::FrameId id : model.all_frames(sample)) {
    const snapshot::Frame& frame = model.tables().frame(id);
    if (frame.kind != snapshot::FrameKind::kPython) {
      continue;
    }
    // A frame of any other file ends the search: beyond it, the library is no longer what waits.
    const FramePattern* wait = model.tells(id, Story::kWaits);
    if (wait == nullptr || !is_standard(model.tables().text(frame.file))) {
      break;
    }
    // The outermost of these frames is the function that the program called.
    words = wait->words.empty() ? words : words_around(words, *wait);
  }
  return words;
}

}  // namespace oddrank::aggregate
