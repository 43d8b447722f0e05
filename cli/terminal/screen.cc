#include "cli/terminal/screen.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/ascii.h"
#include "base/printable.h"
#include "base/split.h"

namespace oddrank::cli {
namespace {

constexpr std::array<std::string_view, 5> kTimeUnits = {"s", "ms", "min", "h", "d"};

// A part of a line: a word, the blanks between two words, or a colour.
struct Piece {
  std::string_view text;
  bool is_word = false;
};

// Returns whether the word is a unit of time, perhaps with a sign after it.
bool is_time_unit(std::string_view word) {
  word = word.substr(0, word.find_last_not_of(",.;:)") + 1);
  return std::find(kTimeUnits.begin(), kTimeUnits.end(), word) != kTimeUnits.end();
}

// Makes "for 2.2 s" and "for 2.2 s to 3 s" pieces that are no words: a line has no age while its
// wait is young, later one age, or two if its ranks differ, but is the same line all the time.
void leave_out_ages(std::vector<Piece>& pieces) {
  std::vector<Piece*> words;
  for (Piece& piece : pieces) {
    if (piece.is_word) {
      words.push_back(&piece);
    }
  }
  const auto is_age = [&words](std::size_t at, std::string_view preposition) {
    return at + 2 < words.size() && words[at]->text == preposition &&
           is_digit(words[at + 1]->text.front()) && is_time_unit(words[at + 2]->text);
  };
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (is_age(i, "for")) {
      const std::size_t size = is_age(i + 3, "to") ? 6 : 3;
      std::for_each_n(words.begin() + static_cast<std::ptrdiff_t>(i), size,
                      [](Piece* word) { word->is_word = false; });
    }
  }
}

std::vector<Piece> pieces_of(std::string_view line) {
  std::vector<Piece> pieces;
  while (!line.empty()) {
    std::size_t size = 0;
    const bool is_color = line.front() == '\x1b';
    const bool is_blank = line.front() == ' ';
    if (is_color) {
      size = line.find('m');
      size = size == std::string_view::npos ? line.size() : size + 1;
    } else {
      size = std::min(is_blank ? line.find_first_not_of(' ') : line.find_first_of(" \x1b"),
                      line.size());
    }
    pieces.push_back({line.substr(0, size), !is_color && !is_blank});
    line.remove_prefix(size);
  }
  leave_out_ages(pieces);
  return pieces;
}

std::vector<std::string_view> words_of(const std::vector<Piece>& pieces) {
  std::vector<std::string_view> words;
  for (const Piece& piece : pieces) {
    if (piece.is_word) {
      const bool ends_a_part = piece.text.size() > 1 && piece.text.back() == ',';
      words.push_back(piece.text.substr(0, piece.text.size() - (ends_a_part ? 1 : 0)));
    }
  }
  return words;
}

// The words of a line with one '#' for each number.
std::string shape_of(const std::vector<std::string_view>& words) {
  std::string shape;
  for (const std::string_view word : words) {
    for (const char c : word) {
      const bool in_number = is_digit(c) || (c == '.' && shape.ends_with('#'));
      if (!in_number) {
        shape += c;
      } else if (!shape.ends_with('#')) {
        shape += '#';
      }
    }
    shape += ' ';
  }
  return shape;
}

// Returns whether the word is the number of a duration or of a time of day.
bool is_time(const std::vector<std::string_view>& words, std::size_t at) {
  const std::string_view word = words[at];
  if (word.empty() || !is_digit(word.front())) {
    return false;
  }
  return (at + 1 < words.size() && is_time_unit(words[at + 1])) || contains(word, ":");
}

using Words = std::vector<std::string_view>;

std::string marked(const std::vector<Piece>& pieces, const Words* before) {
  const Words words = words_of(pieces);
  std::string line;
  std::size_t at = 0;
  for (const Piece& piece : pieces) {
    bool changed = false;
    if (piece.is_word) {
      changed = before == nullptr || (before->at(at) != words[at] && !is_time(words, at));
      ++at;
    }
    line += changed ? "\x1b[7m" + std::string(piece.text) + "\x1b[27m" : std::string(piece.text);
  }
  return line;
}

// Returns `now` with the words that `before` does not have in reverse video. A line is compared
// with the line that has the same words, apart from numbers. Ages ("for 44 s") always change, so
// they are not marked. Colours are kept, and not compared. If `before` is empty, nothing is marked.
// Without marks, the one rank that moved is hard to find on a screen of sixty lines.
std::string mark_changed_words(std::string_view before, std::string_view now) {
  if (before.empty()) {
    return std::string(now);
  }
  std::set<Words> same;
  std::map<std::string, std::deque<Words>> shapes;
  for (const std::string_view line : split(before, '\n')) {
    Words words = words_of(pieces_of(line));
    shapes[shape_of(words)].push_back(words);
    same.insert(std::move(words));
  }
  std::string text;
  bool first = true;
  for (const std::string_view line : split(now, '\n')) {
    text += first ? "" : "\n";
    first = false;
    const std::vector<Piece> pieces = pieces_of(line);
    const Words words = words_of(pieces);
    auto& alike = shapes[shape_of(words)];
    if (same.contains(words)) {
      text += line;
      const auto twin = std::find(alike.begin(), alike.end(), words);
      if (twin != alike.end()) {
        alike.erase(twin);  // so that no other line is compared with it
      }
    } else if (alike.empty()) {
      text += marked(pieces, nullptr);
    } else {
      text += marked(pieces, &alike.front());
      alike.pop_front();
    }
  }
  return text;
}

constexpr std::string_view kHome = "\x1b[H";
constexpr std::string_view kEraseBelow = "\x1b[J";
constexpr std::string_view kEraseRest = "\x1b[K";
constexpr std::string_view kCutLines = "\x1b[?7l";  // long lines would move the others down
constexpr std::string_view kWrapLines = "\x1b[?7h";
constexpr std::size_t kDefaultRows = 24;

std::size_t rows() {
  const winsize size = terminal_size();
  return size.ws_row > 0 ? size.ws_row : kDefaultRows;
}

void paint(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) {
      return;  // the terminal is gone
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace

bool Screen::is_possible() {
  const char* terminal = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): one thread
  return ::isatty(STDOUT_FILENO) != 0 && terminal != nullptr && *terminal != '\0' &&
         std::string_view(terminal) != "dumb";
}

void Screen::show(std::string_view title, std::string_view text, bool marks) {
  const std::string shown = marks ? mark_changed_words(last_, text) : std::string(text);
  last_ = text;
  std::vector<std::string_view> lines = split(shown, '\n');
  while (!lines.empty() && lines.back().empty()) {
    lines.pop_back();
  }
  // One row is the title's; the cursor, and with it the progress, has the last one.
  const std::size_t room = std::max<std::size_t>(rows(), 4) - 2;
  std::string more;
  if (lines.size() > room) {
    more = "... " + count_of(lines.size() - room + 1, "more line");
    lines.resize(room - 1);
    lines.push_back(more);
  }
  std::string frame(kHome);
  frame += kCutLines;
  frame += std::string(title) + std::string(kEraseRest) + "\n";
  for (const std::string_view line : lines) {
    frame += std::string(line) + std::string(kEraseRest) + "\n";
  }
  frame += kEraseBelow;
  frame += kWrapLines;
  paint(frame);
}

void Screen::leave() {
  paint(std::string(kHome) + std::string(kEraseBelow) + last_);
}

}  // namespace oddrank::cli
