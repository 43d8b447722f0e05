#include "aggregate/words/coroutine_words.h"

#include <fmt/format.h>

namespace oddrank::aggregate {
namespace {

// Returns "Store.fill (store.py:33)", in the program's own code if that is known.
std::string place_of(const JobView& view, const snapshot::AsyncTask& task) {
  const snapshot::ThreadSample sample = sample_of(task);
  const std::string place = view.model().user_place(&sample);
  return place.empty() ? "a task" : place;
}

// Returns " in Lock.acquire", or " for a future"; "" if nothing more than the place is known.
std::string awaits_words(const JobView& view, const snapshot::AsyncTask& task) {
  const snapshot::ThreadSample sample = sample_of(task);
  const auto& frames = view.model().all_frames(sample);
  if (!frames.empty() && !view.model().shown(frames.front()).user) {
    return " in " + view.model().shown(frames.front()).name;
  }
  return view.text(task.awaits).ends_with("Future>") ? " for a future" : "";
}

}  // namespace

std::string coroutine_words(const JobView& view, const TaskWay& way) {
  std::string words;
  for (std::size_t at = 0; at < way.tasks.size(); ++at) {
    const bool last = at + 1 == way.tasks.size();
    const std::string awaits = awaits_words(view, *way.tasks[at]);
    words +=
        fmt::format("{}{}, which waits{}", at == 0 ? "" : " for ", place_of(view, *way.tasks[at]),
                    last || !awaits.starts_with(" for ") ? awaits : "");
  }
  return words + (way.circle ? " for one of these" : "");
}

}  // namespace oddrank::aggregate
