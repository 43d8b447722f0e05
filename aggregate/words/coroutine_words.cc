#include "aggregate/words/coroutine_words.h"

#include <fmt/format.h>

namespace oddrank::aggregate {
namespace {

snapshot::ThreadSample sample_of_task(const snapshot::AsyncTask& task) {
  snapshot::ThreadSample sample;
  sample.stack = task.stack;
  return sample;
}

// Returns "Store.fill (store.py:33)", in the program's own code if that is known.
std::string place_of(const JobView& view, const snapshot::AsyncTask& task) {
  const auto frame = view.model().user_frame(sample_of_task(task));
  return frame ? fmt::format("{} ({})", frame->name, frame->place()) : "a task";
}

// Returns " in Lock.acquire"; "" if the library's function is not known.
std::string awaits_words(const JobView& view, const snapshot::AsyncTask& task) {
  const auto hit = view.model().story(sample_of_task(task), Story::kAwaitsCoroutine);
  return hit ? " in " + view.model().shown(hit->frame).name : std::string();
}

}  // namespace

std::string coroutine_words(const JobView& view, const ServingCoroutine& coroutine) {
  std::string words = "has a coroutine in " + place_of(view, *coroutine.way.front());
  for (std::size_t at = 0; at < coroutine.way.size(); ++at) {
    words += ", which waits" + awaits_words(view, *coroutine.way[at]);
    if (at + 1 < coroutine.way.size()) {
      words += " for " + place_of(view, *coroutine.way[at + 1]);
    }
  }
  return words + (coroutine.circle ? " for one of these" : "");
}

}  // namespace oddrank::aggregate
