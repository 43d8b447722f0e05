// Every story with hostile texts: whatever a target, a file name or a peer contributes, no report
// has control characters or marks of direction, no text begins a line of its own, and no advice has
// a word that a shell would run.
#include <algorithm>
#include <string>
#include <string_view>

#include "aggregate/diagnose.h"
#include "base/printable.h"
#include "report/html/report_html.h"
#include "report/report_dot.h"
#include "report/report_json.h"
#include "report/report_profiles.h"
#include "report/report_text.h"
#include "snapshot/carrier.h"
#include "snapshot/format/capture_file.h"
#include "tests/golden/stories/story.h"
#include "tests/support/catch.h"
#include "tests/support/viewed.h"

namespace oddrank::tests {

using snapshot::Capture;

namespace {

// A shell would run PWNED in most places of a command; a terminal would get a title and a colour; a
// bidirectional viewer would turn the text; and a new line would begin.
constexpr std::string_view kHostile =
    "';PWNED $(PWNED)`PWNED`|PWNED&\"PWNED\x1b]0;t\x07\x1b[31m\x7f\xc2\x9b"
    "\u202e\u2066\u2028\u2029\u061c\u200f\ufeff\nPWNED-LINE<script>";

// Texts that are facts to the code are not made hostile: they are numbers and addresses.
bool is_made_hostile(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789-,.: ") != std::string_view::npos;
}

Capture hostile(const Capture& from) {
  const auto worse = [](std::string_view text) {
    return is_made_hostile(text) ? std::string(text) + std::string(kHostile) : std::string(text);
  };
  Capture to;
  snapshot::Carrier carrier(from.tables, to.tables, {worse, worse});
  const snapshot::CaptureRows& rows = from;
  static_cast<snapshot::CaptureRows&>(to) = carrier.row(rows);
  return to;
}

// Returns whether the text has a byte or code point that is not to be seen in an output.
bool is_unsafe(const std::string& text) {
  return printable_text(text) != text;
}

// Returns whether a line of the text begins with our word.
bool begins_line(const std::string& text) {
  for (std::size_t at = text.find("PWNED-LINE"); at != std::string::npos;
       at = text.find("PWNED-LINE", at + 1)) {
    const std::size_t before = text.find_last_not_of(' ', at == 0 ? 0 : at - 1);
    if (at == 0 || before == std::string::npos || text[before] == '\n') {
      return true;
    }
  }
  return false;
}

// Returns whether a shell that runs the line would meet the word outside of single quotes.
bool runs_hostile_word(const std::string& line) {
  bool quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '\\' && !quoted) {
      ++i;
    } else if (line[i] == '\'') {
      quoted = !quoted;
    } else if (!quoted && line.compare(i, 5, "PWNED") == 0) {
      return true;
    }
  }
  return false;
}

}  // namespace

TEST_CASE("stories: hostile texts stay texts") {
  const Story story = GENERATE(from_range(all_stories()));
  INFO(story.path());
  const Capture capture = hostile(story.build().take());
  const aggregate::Diagnosis report = aggregate::diagnose(capture);
  for (const std::string& advice : aggregate::advice_words(report.verdict.advice)) {
    INFO(advice);
    CHECK_FALSE(runs_hostile_word(advice));
  }
  report::TextOptions everything;
  everything.all_threads = everything.full_stacks = everything.locals = true;
  for (const std::string& text :
       {report::report_text(report, capture, everything), report::report_sentence(report),
        report::report_json(report, capture), report::report_html(report, tests::Viewed(capture)),
        report::report_folded(tests::Viewed(capture)),
        report::report_dot(report, tests::Viewed(capture)),
        report::report_speedscope(tests::Viewed(capture))}) {
    const auto at = std::mismatch(text.begin(), text.end(), printable_text(text).begin()).first;
    INFO(text.substr(static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, at - text.begin() - 60)),
                     120));
    CHECK_FALSE(is_unsafe(text));
    CHECK_FALSE(begins_line(text));
  }
  CHECK(report::report_html(report, tests::Viewed(capture)).find("PWNED-LINE<script>") ==
        std::string::npos);
}

TEST_CASE("advice quotes what is not ours") {
  for (const Story& story : all_stories()) {
    if (story.name != "stale_build_lock") {
      continue;
    }
    const Capture capture = hostile(story.build().take());
    const aggregate::Diagnosis report = aggregate::diagnose(capture);
    REQUIRE_FALSE(report.verdict.advice.empty());
    const std::string advice = report.verdict.advice.front().words();
    CHECK(advice.find("rm -- '/home/ada") != std::string::npos);
    CHECK(advice.find("PWNED") != std::string::npos);
    return;
  }
  FAIL("no such story");
}

TEST_CASE("a state that the kernel does not have is refused") {
  const Story story = all_stories().front();
  Capture capture = story.build().take();
  REQUIRE(snapshot::decode_capture(snapshot::encode_capture(capture)));
  for (const char state : {'\x1b', 'q', '\x01', '\xff'}) {
    capture.processes.front().state = state;
    CHECK_FALSE(snapshot::decode_capture(snapshot::encode_capture(capture)));
  }
}

}  // namespace oddrank::tests
