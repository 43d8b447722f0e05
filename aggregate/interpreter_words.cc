#include "aggregate/interpreter_words.h"

#include <algorithm>
#include <array>
#include <span>

namespace oddrank::aggregate {
namespace {

// CPython 3.6 to 3.15: Modules/gcmodule.c, then Python/gc.c and Python/gc_free_threading.c.
constexpr std::array<std::string_view, 12> kCollectors = {"gc_collect",
                                                          "gc_collect_main",
                                                          "gc_collect_full",
                                                          "gc_collect_increment",
                                                          "gc_collect_young",
                                                          "gc_collect_region",
                                                          "gc_collect_with_callback",
                                                          "gc_collect_internal",
                                                          "collect_generations",
                                                          "collect_with_callback",
                                                          "_PyGC_CollectNoFail",
                                                          "PyGC_Collect"};
constexpr std::array<std::string_view, 2> kEnders = {"Py_FinalizeEx", "Py_EndInterpreter"};
constexpr std::array<std::string_view, 4> kForkHooks = {"PyOS_BeforeFork", "PyOS_AfterFork_Parent",
                                                        "PyOS_AfterFork_Child", "run_at_forkers"};

struct Work {
  std::string_view name;
  std::string_view words;
  std::span<const std::string_view> functions;
  bool snapshot::ThreadCapture::*flag;
};

constexpr std::array<Work, 3> kWorks = {{
    {"collects_garbage", "collects garbage", kCollectors,
     &snapshot::ThreadCapture::collects_garbage},
    {"ends_interpreter", "ends the interpreter", kEnders,
     &snapshot::ThreadCapture::ends_interpreter},
    {"runs_fork_hooks", "runs hooks of fork()", kForkHooks, nullptr},
}};

bool does(const Work& work, const JobView& view, const snapshot::ThreadCapture& thread) {
  if (work.flag != nullptr && thread.*work.flag) {
    return true;
  }
  const auto frames = view.model().all_frames(last_sample(thread));
  return thread.has_python && std::ranges::any_of(frames, [&](snapshot::FrameId id) {
           const snapshot::Frame& frame = view.capture().tables.frame(id);
           const std::string_view name = view.text(frame.function);
           return frame.kind == snapshot::FrameKind::kNative &&
                  std::ranges::find(work.functions, name) != work.functions.end();
         });
}

// Returns whether its innermost Python frame acquires the lock of a module that is imported.
bool waits_for_import(const JobView& view, const snapshot::ThreadCapture& thread) {
  const auto id = view.model().python_frame(last_sample(thread));
  if (!id) {
    return false;
  }
  const snapshot::Frame& frame = view.capture().tables.frame(*id);
  const std::string_view name = view.text(frame.function);  // with its class from 3.11 on
  return view.text(frame.file) == "<frozen importlib._bootstrap>" &&
         (name == "acquire" || name == "_ModuleLock.acquire");
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
