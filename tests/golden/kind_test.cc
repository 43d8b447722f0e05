// Compares the table of verdict kinds with the rules, the stories and the docs, which must follow
// it. A kind that is missing from one of them fails here.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "aggregate/flight/flight_facts.h"
#include "aggregate/rules/all_rules.h"
#include "base/read_file.h"
#include "base/split.h"
#include "tests/golden/stories/story.h"
#include "tests/support/catch.h"

namespace oddrank::tests {

using aggregate::Kind;
using aggregate::KindRow;
using aggregate::Rule;
using Names = std::vector<std::string>;

namespace {

constexpr std::size_t kStoriesEach = 3;

Names table_names() {
  Names names;
  for (const KindRow& row : aggregate::kKinds) {
    names.emplace_back(row.name);
  }
  return names;
}

std::string doc(const std::string& name) {
  const auto text = read_file(std::string(ODDRANK_DOCS_FOLDER) + '/' + name);
  return text ? *text : text.error().what;
}

// Returns the texts between backticks, in order.
Names names_in_quotes(std::string_view text) {
  Names names;
  const auto parts = split(text, '`');
  for (std::size_t at = 1; at < parts.size(); at += 2) {
    names.emplace_back(parts[at]);
  }
  return names;
}

// Returns the texts between backticks in the first column of the table with that heading.
Names first_column(const std::string& text, const std::string& heading) {
  Names names;
  const std::size_t begin = text.find("| " + heading + " |");
  for (const std::string_view line :
       split(std::string_view(text).substr(std::min(begin, text.size())), '\n')) {
    if (line.empty() || line.front() != '|') {
      break;
    }
    for (std::string& name : names_in_quotes(line.substr(0, line.find('|', 1)))) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::vector<Rule> rules_of(const KindRow& row) {
  std::vector<Rule> rules;
  for (const Rule rule : {row.rule, row.job_rule}) {
    if (rule != nullptr) {
      rules.push_back(rule);
    }
  }
  return rules;
}

std::set<Kind> kinds_of(Rule rule, const Story& story) {
  const snapshot::Capture capture = story.build().take();
  aggregate::FrameModel model(capture.tables);
  const aggregate::JobView view(capture, model);
  aggregate::WaitGraph graph = build_wait_graph(view);
  const auto input = make_input(view, graph);
  std::set<Kind> kinds;
  const auto add = [&kinds](const std::vector<aggregate::Finding>& findings) {
    for (const aggregate::Finding& finding : findings) {
      kinds.insert(finding.kind);
    }
  };
  for (const aggregate::Suspects& suspects : input.tiers) {
    aggregate::RuleInput about = with_suspects(input, suspects);
    for (const KindRow& row : aggregate::kKinds) {
      if (row.rule == rule) {
        add(ask(row, about));
      } else if (row.job_rule == rule) {
        add(rule(about));
      }
    }
  }
  return kinds;
}

}  // namespace

TEST_CASE("kinds: docs/verdicts.md lists those of the table, in its order") {
  CHECK(first_column(doc("verdicts.md"), "kind") == table_names());
}

TEST_CASE("kinds: docs/runbook.md has advice for each, and for nothing else") {
  const std::string text = doc("runbook.md");
  const Names names = table_names();
  for (const std::string& name : first_column(text, "the verdict says")) {
    INFO(name);
    CHECK(std::count(names.begin(), names.end(), name) == 1);
  }
  const Names words = names_in_quotes(text);
  for (const std::string& name : names) {
    INFO(name);
    CHECK(std::count(words.begin(), words.end(), name) >= 1);
  }
}

TEST_CASE("kinds: docs/json.md sends its reader to docs/verdicts.md") {
  CHECK(doc("json.md").find("| `verdict` | `kind` and `confidence` (docs/verdicts.md)") !=
        std::string::npos);
}

TEST_CASE("kinds: docs/report.schema.json allows those of the table, in its order") {
  const auto schema = nlohmann::json::parse(doc("report.schema.json"));
  CHECK(schema["$defs"]["kind"]["enum"].get<Names>() == table_names());
}

TEST_CASE("kinds: every name is unique") {
  const Names names = table_names();
  CHECK(std::set<std::string>(names.begin(), names.end()).size() == names.size());
}

TEST_CASE("kinds: each has at least three stories, which its own rule finds") {
  std::map<Kind, std::size_t> told;
  for (const Story& story : all_stories()) {
    if (!story.is_near_miss()) {
      const auto rules = rules_of(row_of(story.kind));
      told[story.kind] += std::any_of(rules.begin(), rules.end(), [&story](const Rule rule) {
        return kinds_of(rule, story).contains(story.kind);
      });
    }
  }
  for (const KindRow& row : aggregate::kKinds) {
    INFO(row.name);
    CHECK(told[row.kind] >= kStoriesEach);
  }
}

TEST_CASE("kinds: a rule finds only kinds whose rows name it") {
  for (const Story& story : all_stories()) {
    std::set<Rule> rules;
    for (const KindRow& row : aggregate::kKinds) {
      const std::vector<Rule> of_row = rules_of(row);
      rules.insert(of_row.begin(), of_row.end());
    }
    for (const Rule rule : rules) {
      for (const Kind kind : kinds_of(rule, story)) {
        const KindRow& row = row_of(kind);
        INFO(story.path() << ": " << row.name);
        CHECK(std::ranges::count(rules_of(row), rule) == 1);
      }
    }
  }
}

TEST_CASE("kinds: kinds that name no rank have stories without culprits, the others have none") {
  for (const Story& story : all_stories()) {
    INFO(story.path());
    CHECK(row_of(story.kind).names_culprits == !story.culprits.empty());
  }
}

TEST_CASE("kinds: a kind that is out of range is unknown") {
  CHECK(aggregate::kind_name(static_cast<Kind>(255)) == "unknown");
}

}  // namespace oddrank::tests
