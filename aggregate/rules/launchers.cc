// Launchers wait at their rendezvous: launchers of other nodes have not come. They are torchrun's
// agents, which start their ranks when all nodes have come, and rows without a rank. Launchers that
// were read and are elsewhere are named; unread ones are counted.
//
// Source: torch/distributed/elastic, torch 1.9 to 2.13: `SimpleElasticAgent._rendezvous` is the
// wait; the locals of its callees have the numbers of nodes (cpython/telling_types.h).
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/evidence/quorum.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/words/wait_words.h"
#include "base/parse_number.h"
#include "base/printable.h"

namespace oddrank::aggregate {
namespace {

// -1 and "": unknown.
struct LauncherPlace {
  std::int32_t node = -1;   // its number, if the user has numbered the nodes
  std::int32_t nodes = -1;  // that must come
  std::int32_t come = -1;   // those that have come, itself included
  std::string meets_at;     // "n0:29500" or "rendezvous 'x'"
};

std::size_t as_count(std::int32_t number) {
  return number < 0 ? 0 : static_cast<std::size_t>(number);
}

// Returns what follows "name=" in a text of locals, up to the next blank or bracket; "" if it is
// not there. A text in quotes comes without them.
std::string_view attribute_of(std::string_view text, std::string_view name) {
  const std::string key = " " + std::string(name) + "=";
  const auto at = text.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  std::string_view rest = text.substr(at + key.size());
  const bool quoted = !rest.empty() && rest.front() == '\'';
  rest.remove_prefix(quoted ? 1 : 0);
  return rest.substr(0, rest.find_first_of(quoted ? "'" : " >"));
}

std::int32_t number_of_attribute(std::string_view text, std::string_view name) {
  return parse_number<std::int32_t>(attribute_of(text, name)).value_or(-1);
}

// "participants=<dict of 2>" -> 2.
std::int32_t participants_of(std::string_view text) {
  constexpr std::string_view kKey = " participants=<dict of ";
  const auto at = text.find(kKey);
  if (at == std::string_view::npos) {
    return -1;
  }
  const std::string_view rest = text.substr(at + kKey.size());
  return parse_number<std::int32_t>(rest.substr(0, rest.find('>'))).value_or(-1);
}

void read_launcher_local(std::string_view name, std::string_view value, LauncherPlace& place) {
  if (value.starts_with("<StaticTCPRendezvous ")) {
    place.node = number_of_attribute(value, "rank");
    place.nodes = number_of_attribute(value, "world_size");
    place.meets_at = fmt::format("{}:{}", attribute_of(value, "master_addr"),
                                 attribute_of(value, "master_port"));
  } else if (value.starts_with("<_RendezvousContext ")) {
    place.nodes = number_of_attribute(value, "min_nodes");
    place.come = participants_of(value);
    place.meets_at = fmt::format("rendezvous '{}'", attribute_of(value, "run_id"));
  } else if (name == "group_rank") {
    place.node = parse_number<std::int32_t>(value).value_or(place.node);
  } else if (name == "group_world_size") {
    place.nodes = parse_number<std::int32_t>(value).value_or(place.nodes);
  }
}

// Returns "1 of 2 nodes has come", or how many must come if a launcher cannot know how many have.
std::string come_words(const LauncherPlace& place) {
  if (place.come > 0 && place.nodes > 0) {
    return fmt::format("{} of {} nodes {} come", place.come, place.nodes,
                       place.come == 1 ? "has" : "have");
  }
  return place.nodes > 0 ? fmt::format("{} must come", count_of(as_count(place.nodes), "node"))
                         : std::string("the others have not come");
}

// Returns "node 1" or "nodes 1,3": numbers of nodes without a waiting launcher; "" if the nodes
// have no numbers.
std::string missing_numbers(const std::vector<LauncherPlace>& places) {
  constexpr std::int32_t kMaxNodes = 1 << 16;
  std::set<std::int32_t> numbers;
  const std::int32_t nodes = places.front().nodes;
  for (const LauncherPlace& place : places) {
    numbers.insert(place.node);
  }
  std::vector<std::int32_t> missing;
  for (std::int32_t node = 0; node < std::min(nodes, kMaxNodes); ++node) {
    if (numbers.count(node) == 0) {
      missing.push_back(node);
    }
  }
  if (numbers.count(-1) != 0 || missing.empty()) {
    return {};
  }
  return fmt::format("{} {}", missing.size() == 1 ? "node" : "nodes", format_ranks(missing));
}

std::string place_words(const JobView& view, const RankView& rank) {
  const std::string place = view.model().user_place(rank.sample());
  return place.empty() ? phase_of(view, rank) : place;
}

// Handles replicas that meet at a lighthouse of torchft, where too few have come.
std::vector<Finding> quorum_waits(const RuleInput& input) {
  const auto quorum = waiting_quorum(input.view, input.graph.slots);
  if (!quorum) {
    return {};
  }
  Finding finding;
  finding.kind = Kind::kRendezvous;
  finding.confidence = Confidence::kLikely;
  finding.explains = quorum->slot->inside.size();
  finding.summary = quorum_words(input.view, *quorum) + "; no process of another one was found";
  finding.advice = {"look whether the other replicas run, and for their errors"};
  finding.disproves = {"another replica that is at work on a node that was not read"};
  return {finding};
}

LauncherPlace launcher_place(const JobView& view, const RankView& rank) {
  LauncherPlace place;
  for (const snapshot::FrameLocals& locals : rank.decider->locals) {
    for (const snapshot::Local& local : locals.locals) {
      read_launcher_local(view.text(local.name), view.text(local.value), place);
    }
  }
  return place;
}

}  // namespace

std::vector<Finding> launchers_wait(const RuleInput& input) {
  std::vector<LauncherPlace> places;
  std::vector<std::size_t> waiting;
  std::vector<std::size_t> elsewhere;
  const auto& ranks = input.view.ranks();
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    if (waits_for_launchers(input.view, ranks[at])) {
      waiting.push_back(at);
      places.push_back(launcher_place(input.view, ranks[at]));
    } else if (ranks[at].rank < 0) {
      elsewhere.push_back(at);
    }
  }
  if (waiting.empty()) {
    return quorum_waits(input);
  }
  Finding finding;
  finding.kind = Kind::kRendezvous;
  finding.confidence = Confidence::kLikely;
  finding.explains = waiting.size();
  // The first ones may not know of the others yet.
  const LauncherPlace& latest = *std::ranges::max_element(
      places, [](const auto& a, const auto& b) { return a.come < b.come; });
  const std::string where = latest.meets_at.empty() ? "" : " at " + printable(latest.meets_at);
  finding.summary =
      waiting.size() == 1
          ? fmt::format("{} is a launcher that waits for those of other nodes{}: {}",
                        JobView::name(ranks[waiting.front()]), where, come_words(latest))
          : fmt::format("{} launchers wait for those of other nodes{}: {}", waiting.size(), where,
                        come_words(latest));
  if (const std::string missing = missing_numbers(places); !missing.empty()) {
    finding.summary += "; no launcher of " + missing + " was found";
  }
  for (const std::size_t at : elsewhere) {
    finding.summary +=
        fmt::format("; {} is in {}", JobView::name(ranks[at]), place_words(input.view, ranks[at]));
    finding.culprits.push_back(culprit_of(input.view, ranks[at]));
  }
  finding.advice = {"look whether the launcher runs on the other nodes, and for its errors",
                    "compare the number of nodes, the address and the name of the rendezvous in "
                    "the commands of all nodes"};
  finding.disproves = {"the launchers' ranks coming into being"};
  finding.weakness = "the nodes may be starting";
  return {finding};
}

}  // namespace oddrank::aggregate
