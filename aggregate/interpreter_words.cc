#include "aggregate/interpreter_words.h"

#include <array>

namespace oddrank::aggregate {
namespace {

struct Work {
  std::string_view name;
  std::string_view words;
  Story story;
  bool snapshot::ThreadCapture::*flag;
};

constexpr std::array<Work, 3> kWorks = {{
    {"collects_garbage", "collects garbage", Story::kCollectsGarbage,
     &snapshot::ThreadCapture::collects_garbage},
    {"ends_interpreter", "ends the interpreter", Story::kEndsInterpreter,
     &snapshot::ThreadCapture::ends_interpreter},
    {"runs_fork_hooks", "runs hooks of fork()", Story::kRunsForkHooks, nullptr},
}};

bool does(const Work& work, const JobView& view, const snapshot::ThreadCapture& thread) {
  return (work.flag != nullptr && thread.*work.flag) ||
         (thread.has_python && view.model().story(last_sample(thread), work.story));
}

// Returns whether its innermost Python frame acquires the lock of a module that is imported.
bool waits_for_import(const JobView& view, const snapshot::ThreadCapture& thread) {
  const auto id = view.model().python_frame(last_sample(thread));
  return id && view.model().tells(*id, Story::kImports) != nullptr;
}

}  // namespace

std::int8_t collected_generation(const JobView& view, const snapshot::ThreadCapture& thread) {
  return does(kWorks.front(), view, thread) ? thread.gc_generation : std::int8_t{-1};
}

std::vector<std::string_view> interpreter_work(const JobView& view,
                                               const snapshot::ThreadCapture& thread) {
  std::vector<std::string_view> names;
  for (const Work& work : kWorks) {
    if (does(work, view, thread)) {
      names.push_back(work.name);
    }
  }
  if (waits_for_import(view, thread)) {
    names.emplace_back("waits_for_import");
  }
  return names;
}

std::string interpreter_words(const JobView& view, const snapshot::ThreadCapture& thread) {
  std::string text;
  for (const Work& work : kWorks) {
    if (does(work, view, thread)) {
      text += ", " + std::string(work.words);
    }
    const bool first = &work == &kWorks.front();
    if (const int generation = first ? collected_generation(view, thread) : -1; generation >= 0) {
      text += " (generation " + std::to_string(generation) + ")";
    }
  }
  return text + (waits_for_import(view, thread) ? ", waits for an import" : "");
}

}  // namespace oddrank::aggregate
