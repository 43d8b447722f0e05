#include "report/doctor.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "base/hostlist.h"
#include "base/printable.h"
#include "report/json_values.h"
#include "report/style.h"

namespace oddrank::report {
namespace {

using snapshot::Answer;
using snapshot::Check;
using snapshot::NodeHealth;

// If there are more nodes than this, equal nodes share a line.
constexpr std::size_t kMaxLinesEach = 24;

// "access yes, ranks 2, stacks NO (cut)".
std::string words_of(const NodeHealth& node, const Style& style) {
  if (!node.reached) {
    return style.bad(node.why);
  }
  std::string words;
  for (const Check& check : node.checks) {
    const std::string answer = check.answer == Answer::kNo    ? style.bad("NO")
                               : check.answer == Answer::kOff ? style.dim("off")
                                                              : "";
    words += words.empty() ? "" : ", ";
    words += check.name + " ";
    if (answer.empty()) {
      words += check.detail.empty() ? "yes" : check.detail;
    } else {
      words += answer + (check.detail.empty() ? "" : " (" + check.detail + ")");
    }
  }
  return words;
}

struct Line {
  std::vector<std::string> hosts;
  std::chrono::milliseconds slowest{0};
  std::string words;
  bool healthy = true;
};

std::vector<Line> lines_of(const std::vector<NodeHealth>& nodes, const Style& style) {
  std::vector<Line> lines;
  for (const NodeHealth& node : nodes) {
    std::string words = words_of(node, style);
    const auto same = nodes.size() <= kMaxLinesEach
                          ? lines.end()
                          : std::find_if(lines.begin(), lines.end(), [&words](const Line& line) {
                              return line.words == words;
                            });
    Line& line = same == lines.end() ? lines.emplace_back() : *same;
    line.hosts.push_back(node.host);
    line.slowest = std::max(line.slowest, node.after);
    line.healthy = node.healthy();
    line.words = std::move(words);
  }
  return lines;
}

// Lists each remedy once, with the nodes that need it.
std::string remedies_of(const std::vector<NodeHealth>& nodes, Answer answer, const Style& style) {
  std::vector<std::pair<std::string, std::vector<std::string>>> remedies;
  for (const NodeHealth& node : nodes) {
    for (const Check& check : node.checks) {
      if (check.answer != answer || check.remedy.empty()) {
        continue;
      }
      const std::string text = check.name + ": " + check.remedy;
      const auto known = std::find_if(remedies.begin(), remedies.end(),
                                      [&text](const auto& row) { return row.first == text; });
      auto& row = known == remedies.end() ? remedies.emplace_back(text, std::vector<std::string>{})
                                          : *known;
      row.second.push_back(node.host);
    }
  }
  std::string text;
  for (auto& [remedy, hosts] : remedies) {
    text += style.paragraph("  ", compress_hosts(std::move(hosts)) + " " + remedy, 4);
  }
  return text;
}

}  // namespace

void sort_worst_first(std::vector<NodeHealth>& nodes) {
  const auto badness = [](const NodeHealth& node) {
    return node.reached ? node.noes() : std::numeric_limits<std::size_t>::max();
  };
  std::stable_sort(nodes.begin(), nodes.end(), [&](const NodeHealth& a, const NodeHealth& b) {
    return badness(a) > badness(b);
  });
}

std::string doctor_text(const std::vector<NodeHealth>& nodes, const TextOptions& options) {
  const Style style(options);
  std::string text;
  std::size_t healthy = 0;
  for (const NodeHealth& node : nodes) {
    healthy += node.healthy() ? 1 : 0;
  }
  text += style.bold(fmt::format("{} of {} node{} ready for oddrank", healthy, nodes.size(),
                                 nodes.size() == 1 ? "" : "s")) +
          "\n\n";
  std::size_t width = 4;
  const std::vector<Line> lines = lines_of(nodes, style);
  for (const Line& line : lines) {
    width = std::max(width, compress_hosts(line.hosts).size());
  }
  for (const Line& line : lines) {
    const std::string mark = line.healthy ? style.good("ok ") : style.bad("NO ");
    text += fmt::format("{} {:<{}}  {:>5.2f} s  {}\n", mark, compress_hosts(line.hosts),
                        std::min<std::size_t>(width, 40),
                        static_cast<double>(line.slowest.count()) / 1000.0, line.words);
  }
  if (const std::string needed = remedies_of(nodes, Answer::kNo, style); !needed.empty()) {
    text += "\n" + style.bold("What has to change") + "\n" + needed;
  }
  if (const std::string helpful = remedies_of(nodes, Answer::kOff, style); !helpful.empty()) {
    text += "\n" + style.bold("What would help") + "\n" + helpful;
  }
  return text;
}

std::string doctor_json(const std::vector<NodeHealth>& nodes) {
  Json rows = Json::array();
  for (const NodeHealth& node : nodes) {
    Json checks = Json::array();
    for (const Check& check : node.checks) {
      checks.push_back({{"name", check.name},
                        {"answer", answer_name(check.answer)},
                        {"detail", printable(check.detail)},
                        {"remedy", printable(check.remedy)}});
    }
    rows.push_back({{"host", printable(node.host)},
                    {"reached", node.reached},
                    {"ready", node.healthy()},
                    {"why", or_null(node.why)},
                    {"after_ms", node.after.count()},
                    {"version", node.version},
                    {"checks", std::move(checks)}});
  }
  return json_text({{"nodes", std::move(rows)}}, 2) + "\n";
}

}  // namespace oddrank::report
