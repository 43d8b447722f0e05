#include "report/style.h"

#include <set>
#include <vector>

#include <fmt/format.h>

#include "base/printable.h"

namespace oddrank::report {
namespace {

constexpr std::size_t kNameColumns = 34;
constexpr std::size_t kPlaceColumns = 26;

// Picks the most telling frames of a stack that is too long, in this order: its inner end, the
// innermost frame of the user's program, the library function called there, the frame next to the
// inner end, the user's next frame, then the rest from the inner end on.
std::vector<std::size_t> choose(const std::vector<aggregate::ShownFrame>& frames,
                                std::size_t limit) {
  std::vector<std::size_t> wanted = {0};
  std::vector<std::size_t> users;
  for (std::size_t at = 0; at < frames.size(); ++at) {
    if (frames[at].user) {
      users.push_back(at);
    }
  }
  if (!users.empty()) {
    wanted.push_back(users.front());
    wanted.push_back(users.front() == 0 ? 0 : users.front() - 1);
  }
  for (std::size_t at = 1; at < frames.size(); ++at) {
    wanted.push_back(at);
    if (at == 1 && users.size() > 1) {
      wanted.push_back(users[1]);
    }
  }
  std::set<std::size_t> chosen;
  for (const std::size_t at : wanted) {
    if (chosen.size() < limit && at < frames.size()) {
      chosen.insert(at);
    }
  }
  // A line that says "1 frame" would take as much space as that frame.
  for (std::size_t at = 1; at + 1 < frames.size(); ++at) {
    if (chosen.contains(at - 1) && chosen.contains(at + 1)) {
      chosen.insert(at);
    }
  }
  return {chosen.begin(), chosen.end()};
}

bool same_place(const aggregate::ShownFrame& a, const aggregate::ShownFrame& b) {
  return a.kind == b.kind && a.name == b.name && a.file == b.file && a.line == b.line;
}

struct Recursion {
  std::size_t period = 0;  // frames of one round; 0: the function does not call itself here
  std::size_t rounds = 0;
};

// Returns the rounds of a recursion that begins at this frame, if it is worthwhile to give them a
// line of their own: one function that calls itself, or up to four that call each other.
Recursion recursion_at(const std::vector<aggregate::ShownFrame>& frames, std::size_t at) {
  constexpr std::size_t kMaxPeriod = 4;
  constexpr std::size_t kMinSaved = 4;  // frames
  for (std::size_t period = 1; period <= kMaxPeriod; ++period) {
    std::size_t end = at + period;
    while (end < frames.size() && same_place(frames[end], frames[end - period])) {
      ++end;
    }
    const std::size_t rounds = (end - at) / period;
    if (rounds > 1 && (rounds - 1) * period >= kMinSaved) {
      return {period, rounds};
    }
  }
  return {};
}

// Returns 4087 as "4,087".
std::string with_commas(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3; at -= 3) {
    text.insert(at - 3, ",");
  }
  return text;
}

}  // namespace

std::string Style::recursion_line(const std::vector<aggregate::ShownFrame>& frames,
                                  std::size_t begin,
                                  std::size_t period,
                                  std::size_t rounds,
                                  std::size_t indent) const {
  std::string names;
  for (std::size_t i = 0; i < period; ++i) {
    names += (i == 0 ? "`" : ", `") + cut_middle(frames[begin + i].name, width_ / 2) + "`";
  }
  return std::string(indent, ' ') +
         dim(fmt::format("... {} {} more {}", names, with_commas(rounds - 1),
                         rounds == 2 ? "time" : "times")) +
         '\n';
}

std::string Style::paint(std::string_view code, std::string_view text) const {
  return color_ && !text.empty() ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string Style::paragraph(std::string_view first,
                             std::string_view text,
                             std::size_t indent) const {
  std::string result;
  std::string lead(first);
  for (const std::string& line : wrap(text, width_ - std::min(width_ / 2, indent))) {
    result += lead + line + '\n';
    lead.assign(indent, ' ');
  }
  return result;
}

std::string Style::frame_line(const aggregate::ShownFrame& frame, std::size_t indent) const {
  const std::string place = frame.shown_place();
  const std::size_t room = width_ - std::min(width_ / 2, indent);
  if (frame.kind == snapshot::FrameKind::kNative) {
    // The module matters less than the whole name.
    const std::size_t left = room > columns(frame.name) + 2 ? room - columns(frame.name) - 2 : 0;
    const std::size_t pad =
        columns(frame.name) < kNameColumns ? kNameColumns - columns(frame.name) : 2;
    const bool tells = frame.heuristic || frame.name.find('+') == std::string::npos;
    const bool fits = tells && pad + columns(place) <= left + 2;
    return std::string(indent, ' ') + (full_ ? frame.name : cut_end(frame.name, room)) +
           (fits && !place.empty() ? std::string(pad, ' ') + dim(place) : std::string()) + '\n';
  }
  // The end of a place is the most telling part: the file's own name and the line.
  const std::size_t tail = std::min(columns(place), kPlaceColumns) + 2;
  const std::size_t for_name = std::max(room / 2, room - std::min(room, tail));
  const std::string name = full_ ? frame.name : cut_middle(frame.name, for_name);
  const std::size_t pad = columns(name) < kNameColumns ? kNameColumns - columns(name) : 2;
  const std::size_t left = room > columns(name) + pad ? room - columns(name) - pad : 8;
  return std::string(indent, ' ') + name + std::string(pad, ' ') +
         (full_ ? place : cut_front(place, left)) + '\n';
}

std::string Style::stack_lines(const aggregate::FoldedStack& stack,
                               std::size_t indent,
                               std::size_t limit) const {
  const auto& frames = stack.frames;
  std::string text;
  std::size_t next = 0;
  while (!full_ && limit >= frames.size() && next < frames.size()) {
    const Recursion recursion = recursion_at(frames, next);
    const std::size_t shown = std::max<std::size_t>(recursion.period, 1);
    for (std::size_t i = 0; i < shown; ++i) {
      text += frame_line(frames[next + i], indent);
    }
    if (recursion.period > 0) {
      text += recursion_line(frames, next, recursion.period, recursion.rounds, indent);
    }
    next += recursion.period > 0 ? recursion.period * recursion.rounds : 1;
  }
  if (next > 0) {
    return text;
  }
  for (const std::size_t at : choose(frames, full_ ? frames.size() : limit)) {
    if (at > next) {
      text += std::string(indent, ' ') + dim(fmt::format("... {}", count_of(at - next, "frame"))) +
              '\n';
    }
    text += frame_line(frames[at], indent);
    next = at + 1;
  }
  return text;
}

}  // namespace oddrank::report
