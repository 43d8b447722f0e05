#include "cli/terminal/screen.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/printable.h"
#include "base/split.h"
#include "cli/terminal/changed_words.h"
#include "cli/terminal/terminal_size.h"

namespace oddrank::cli {
namespace {

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
