#include "snapshot/locals_change.h"

#include <algorithm>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

namespace oddrank::snapshot {
namespace {

struct LocalsOfFrame {
  std::pair<StringId, StringId> function;  // and file
  const FrameLocals* locals = nullptr;     // null: none were read
  std::uint32_t line = 0;
  bool retries = false;  // it is in a loop that tries something until it succeeds
};

// Returns the Python frames of the last sample, outermost first.
std::vector<LocalsOfFrame> frames_with_locals(const Tables& tables, const ThreadCapture& thread) {
  std::vector<LocalsOfFrame> found;
  if (thread.samples.empty()) {
    return found;
  }
  const auto& frames = tables.stack(thread.samples.back().python_frames()).frames;
  for (std::size_t i = frames.size(); i-- > 0;) {
    const Frame& frame = tables.frame(frames[i]);
    if (frame.kind != FrameKind::kPython) {
      continue;
    }
    const auto row = std::find_if(thread.locals.begin(), thread.locals.end(),
                                  [i](const FrameLocals& each) { return each.frame == i; });
    const auto place = std::ranges::find(thread.places, i, &FramePlace::frame);
    found.push_back({{frame.function, frame.file},
                     row == thread.locals.end() ? nullptr : &*row,
                     frame.line,
                     place != thread.places.end() && place->retries()});
  }
  return found;
}

// Returns whether the text shows the contents of a list, a dict or an instance, which another
// thread may have changed. A list of operations to be started ("[<P2POp ...>]") is its thread's
// own.
bool shows_contents(std::string_view value) {
  bool quoted = false;
  for (std::size_t i = value.starts_with("[<") ? 1 : 0; i < value.size(); ++i) {
    const char c = value[i];
    if (quoted) {
      i += c == '\\' ? 1U : 0U;
      quoted = c != '\'';
      continue;
    }
    quoted = c == '\'';
    if (c == '{' || c == '[' || (c == ':' && value.substr(i, 2) == ": ")) {
      return true;
    }
  }
  return false;
}

bool has_other_value(const Tables& tables, const FrameLocals& before, const FrameLocals& after) {
  return std::any_of(after.locals.begin(), after.locals.end(), [&](const Local& now) {
    const auto then = std::find_if(before.locals.begin(), before.locals.end(),
                                   [&now](const Local& each) { return each.name == now.name; });
    return then != before.locals.end() && then->value != now.value &&
           !(is_fraction(tables.text(then->value)) && is_fraction(tables.text(now.value))) &&
           !shows_contents(tables.text(now.value));
  });
}

}  // namespace

bool is_fraction(std::string_view value) {
  return !value.empty() && value.front() != '\'' &&
         value.find_first_of("0123456789") != std::string_view::npos &&
         value.find_first_not_of("0123456789.+-e") == std::string_view::npos &&
         value.find_first_of(".e") != std::string_view::npos;
}

Advance advance_between(const Tables& tables,
                        const ThreadCapture& before,
                        const ThreadCapture& after) {
  const bool has_locals = !before.locals.empty() && !after.locals.empty();
  const bool has_places = !before.places.empty() && !after.places.empty();
  if (!has_locals && !has_places) {
    return {};
  }
  const auto then = frames_with_locals(tables, before);
  const auto now = frames_with_locals(tables, after);
  bool same_lines = true;
  for (std::size_t i = 0; i < std::min(then.size(), now.size()); ++i) {
    if (then[i].function != now[i].function) {
      break;
    }
    const bool other_value = then[i].locals != nullptr && now[i].locals != nullptr &&
                             has_other_value(tables, *then[i].locals, *now[i].locals);
    const bool other_line = then[i].line != now[i].line;
    if (same_lines && (other_value || other_line) && then[i].retries && now[i].retries) {
      return {.retried = true};
    }
    if (other_value) {
      return {.changed = true};
    }
    same_lines = same_lines && !other_line;
  }
  return {};
}

bool other_sides_changed(const ThreadCapture& before, const ThreadCapture& after) {
  if (!before.call || !after.call) {
    return false;
  }
  const CollectiveCall& then = *before.call;
  const CollectiveCall& now = *after.call;
  const auto known = [](const CollectiveCall& call) {
    return call.peer >= 0 || call.peers != StringId{};
  };
  return known(then) && known(now) &&
         std::tuple(then.group, then.peer, then.peers) !=
             std::tuple(now.group, now.peer, now.peers);
}

}  // namespace oddrank::snapshot
