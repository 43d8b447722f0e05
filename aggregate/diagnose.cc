#include "aggregate/diagnose.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "aggregate/evidence/wait_end.h"
#include "aggregate/rules/rule.h"
#include "aggregate/setup_notes.h"
#include "aggregate/side_calls.h"
#include "aggregate/sources/source_finding.h"
#include "aggregate/store_tables.h"
#include "aggregate/symmetry/fold_groups.h"
#include "aggregate/verdict_engine.h"
#include "aggregate/view/coordinates.h"
#include "aggregate/view/coroutines.h"
#include "aggregate/view/groups.h"
#include "aggregate/view/rank_set.h"
#include "aggregate/view/thread_cycle.h"
#include "aggregate/words/wait_words.h"
#include "base/hostlist.h"
#include "base/printable.h"

namespace oddrank::aggregate {

using snapshot::Capture;
using snapshot::ProcessCapture;

namespace {

constexpr std::size_t kMaxPids = 8;
constexpr std::size_t kMaxAwaited = 4;

Coverage cover(const JobView& view) {
  Coverage coverage;
  coverage.expected = view.expected();
  coverage.nodes_expected = view.nodes_expected();
  coverage.nodes_answered = view.nodes_answered();
  coverage.skew_us = view.skew_us();
  coverage.began_us = view.began_us();
  coverage.beside = view.beside_ranks();
  coverage.of_ranks = view.of_ranks();
  std::map<std::tuple<bool, std::string, std::string>, Unread> unread;
  for (const RankView& rank : view.ranks()) {
    const bool partial = rank.in_part();
    coverage.partial += partial ? 1 : 0;
    if (rank.presence == Presence::kRead && !partial) {
      ++coverage.read;
      continue;
    }
    std::string why = rank.why;
    if (rank.presence == Presence::kDead) {
      why = rank.pid() == 0 ? "dead"
            : rank.rank < 0 ? "dead (zombie)"
                            : fmt::format("pid {} is dead (zombie)", rank.pid());
    } else if (why.empty()) {
      why = rank.state() == '?' ? "could not be read"
                                : fmt::format("read in part (state {})", rank.state());
    }
    Unread& row = unread[{partial, rank.host, why}];
    row.ranks.push_back(rank.rank);
    row.pids.push_back(rank.pid());
    row.host = rank.host;
    row.why = why;
    row.partial = partial;
    row.gone = rank.presence == Presence::kAbsent || rank.presence == Presence::kDead;
  }
  for (auto& entry : unread) {
    coverage.unread.push_back(std::move(entry.second));
  }
  return coverage;
}

std::string job_words(const Capture& capture) {
  const std::string id = printable(capture.job.id, 60);
  const std::string name = printable(capture.job.name, 40);
  if (id.empty()) {
    return {};
  }
  return name.empty() ? "job " + id : fmt::format("job {} ({})", id, name);
}

ReportedProcess report_awaited(const JobView& view,
                               const ProcessCapture& process,
                               const snapshot::ThreadCapture* thread,
                               std::string what) {
  ReportedProcess row;
  row.pid = process.pid;
  row.host = view.host(process);
  row.what = std::move(what);
  row.stuck = stuck_words(view, process);
  if (thread != nullptr && !thread->samples.empty()) {
    row.stack = view.model().fold(thread->samples.back());
    row.quiet.add(*thread);
  }
  return row;
}

ReportedProcess report_task(const JobView& view,
                            const ProcessCapture& process,
                            const snapshot::AsyncTask& task) {
  ReportedProcess row;
  row.pid = process.pid;
  row.host = view.host(process);
  const std::string name = printable(view.text(task.name), 60);
  row.what = name.empty() ? "its task" : fmt::format("its task \"{}\"", name);
  row.stack = view.model().fold(sample_of(task));
  return row;
}

void add_awaited(const JobView& view, const RankView& rank, ReportedGroup& group) {
  const auto next = [&view](const ProcessCapture* at) {
    const ProcessCapture* awaited = at == nullptr ? nullptr : awaited_process(view, *at);
    return awaited == nullptr || awaited->is_rank ? nullptr : awaited;
  };
  const auto processes = follow(next(rank.process), next, kMaxAwaited).all();
  for (const ProcessCapture* process : processes) {
    const RankView* owner = view.other_owner(*process, rank);
    const std::string words = child_words(view, *process);
    group.awaited.push_back(report_awaited(
        view, *process, deciding_thread(view, *process),
        owner == nullptr ? "its " + words : fmt::format("the {} of rank {}", words, owner->rank)));
  }
  if (rank.decider != nullptr) {
    for (const auto* task : tasks_awaited_by(view.model(), *rank.process, *rank.decider).tasks) {
      if (group.awaited.size() < kMaxAwaited) {
        group.awaited.push_back(report_task(view, *rank.process, *task));
      }
    }
  }
  // The rank's own thread, or the first of several workers in the same call.
  const WaitEnd end(view, rank);
  for (const WaitEnd::Hop& hop : end.hops()) {
    const bool is_shown = is_coroutine(*hop.thread) ||  // its task was
                          std::ranges::count(processes, hop.process) != 0;
    if (group.awaited.size() < kMaxAwaited && !is_shown) {
      group.awaited.push_back(
          report_awaited(view, *hop.process, hop.thread, "its " + end.hop_words(hop)));
    }
  }
}

// Returns where the program stands, if the deciding thread is a library's.
FoldedStack main_stack_of(const JobView& view, const RankView& rank) {
  if (rank.decider == nullptr || rank.decider->has_python || rank.decider->tid == rank.pid()) {
    return {};
  }
  const auto* main = main_thread(*rank.process);
  return main == nullptr || !main->has_python || main->samples.empty()
             ? FoldedStack()
             : view.model().fold(main->samples.back());
}

ReportedGroup report_group(const JobView& view, const Verdict& verdict, const RankGroup& group) {
  ReportedGroup row;
  std::vector<std::string> hosts;
  for (const std::size_t at : group.ranks) {
    const RankView& rank = view.rank(at);
    if (rank.rank >= 0) {
      row.ranks.push_back(rank.rank);
    }
    if (row.pids.size() < kMaxPids) {
      row.pids.push_back(rank.pid());
      row.labels.emplace_back(rank.label);
    }
    // Ranks of a host are mostly neighbours.
    if (!rank.host.empty() && (hosts.empty() || hosts.back() != rank.host)) {
      hosts.push_back(rank.host);
    }
    if (rank.decider != nullptr) {
      row.quiet.add(*rank.decider);
    } else {
      row.quiet.add_unknown();
    }
    const bool guilty = is_named(rank, verdict.culprits);
    if (guilty && !row.culprit) {
      add_awaited(view, rank, row);
    }
    row.culprit = row.culprit || guilty;
  }
  row.count = group.ranks.size();
  row.hosts = compress_hosts(std::move(hosts));
  if (row.count == 1) {
    row.coordinates = coordinate_words(coordinates_of(view, view.rank(group.ranks.front())));
  }
  row.phase = group.phase;
  row.state = group.state;
  row.stack = group.stack;
  row.main_stack = main_stack_of(view, view.rank(group.ranks.front()));
  row.differences = diff_locals(view, group.ranks);
  return row;
}

// Adds the groups, the culprits' first, and how they are shown.
void add_groups(const JobView& view,
                const std::vector<Role>& roles,
                std::vector<RankGroup> groups,
                Diagnosis& report) {
  std::stable_partition(groups.begin(), groups.end(), [&](const RankGroup& group) {
    return std::ranges::any_of(group.ranks, [&](std::size_t at) {
      return is_named(view.rank(at), report.verdict.culprits);
    });
  });
  for (const RankGroup& group : groups) {
    report.groups.push_back(report_group(view, report.verdict, group));
  }
  for (Fold& fold : fold_groups(view, groups, roles)) {
    ShownGroup& row = report.shown.emplace_back();
    if (fold.is_folded()) {
      row.whole = report_group(view, report.verdict, whole_of(groups, fold));
    }
    row.parts = std::move(fold.groups);
  }
}

std::vector<std::int32_t> numbers_of(const JobView& view, const std::vector<std::size_t>& ranks) {
  std::vector<std::int32_t> numbers = view.numbers_of(ranks);
  std::erase_if(numbers, [](std::int32_t rank) { return rank < 0; });
  return numbers;
}

// Drops advice that needs a live process: only its core is left. A host is often known only by the
// file name of its core.
void fit_advice_to_cores(std::vector<Advice>& advice) {
  std::erase_if(advice, [](const Advice& one) { return one.needs_live; });
  for (Advice& one : advice) {
    if (!one.host.empty()) {
      one.text = "on its node: " + one.text;
      one.host.clear();
    }
  }
}

// Returns "ranks 5-6 wait for other ranks, but not for one that is named"; "" if the named ranks
// explain all waiters, or none is named.
std::string unexplained(const JobView& view,
                        const WaitGraph& graph,
                        const std::vector<Role>& roles,
                        const Verdict& verdict) {
  if (!is_stall(verdict.kind) || !verdict.links.empty()) {
    return {};
  }
  bool named = false;
  std::vector<std::int32_t> left;
  for (std::size_t at = 0; at < view.ranks().size(); ++at) {
    const std::int32_t rank = view.rank(at).rank;
    named = named || (rank >= 0 && roles[at] == Role::kRoot);
    if (rank >= 0 && graph.waits[at] && roles[at] == Role::kElsewhere) {
      left.push_back(rank);
    }
  }
  if (!named || left.empty()) {
    return {};
  }
  return fmt::format("{} {} for other ranks, but not for one that is named", ranks_phrase(left),
                     left.size() == 1 ? "waits" : "wait");
}

// Returns a note on ranks that certainly hold up others and may wait for a named rank, but are in
// no story: of two causes, the second one would come as a surprise.
std::string awaited_beside(const RuleInput& input,
                           const std::vector<Role>& roles,
                           const Verdict& verdict) {
  constexpr std::size_t kMaxBeside = 3;
  if (!is_stall(verdict.kind) || verdict.culprits.empty()) {
    return {};
  }
  std::string words;
  std::size_t found = 0;
  for (const Cause& cause : input.blame.solution.causes) {
    const std::uint32_t at = cause.nodes.front();
    if (cause.circle || at >= roles.size() || roles[at] == Role::kRoot ||
        !input.blame.is_sure(at) || input.view.rank(at).presence != Presence::kRead ||
        ++found > kMaxBeside) {
      continue;
    }
    const RankView& rank = input.view.rank(at);
    words += fmt::format("{}{} {}", words.empty() ? "" : "; ", JobView::name(rank),
                         phase_of(input.view, rank));
  }
  return words.empty() ? std::string()
                       : fmt::format("awaited as well, and perhaps held up by what is named: {}{}",
                                     words, found > kMaxBeside ? "; and more" : "");
}

// Adds the notes of all nodes. If no rank of a node without an answer is listed as unread, a note
// gives the reason, once for all nodes with the same reason.
void add_node_notes(const Capture& capture, Diagnosis& report) {
  std::set<std::string_view> listed;
  for (const Unread& row : report.coverage.unread) {
    listed.insert(row.host);
  }
  std::map<std::string_view, std::vector<std::string>> silent;
  for (const auto& node : capture.nodes) {
    if (!node.answered && !listed.contains(printable(node.host))) {
      silent[node.why].push_back(node.host);
    }
    for (const std::string& note : node.notes) {
      report.notes.push_back(printable(node.host + ": " + note, 400));
    }
  }
  for (auto& [why, hosts] : silent) {
    report.notes.push_back(
        printable(compress_hosts(std::move(hosts)) + " gave no answer: " + std::string(why), 400));
  }
}

}  // namespace

Verdict verdict_of(const JobView& view) {
  WaitGraph graph = build_wait_graph(view);
  return decide(make_input(view, graph));
}

Diagnosis diagnose(const Capture& capture) {
  FrameModel model(capture.tables);
  return diagnose(JobView(capture, model));
}

Diagnosis diagnose(const JobView& view) {
  const Capture& capture = view.capture();
  WaitGraph graph = build_wait_graph(view);
  std::vector<RankGroup> groups = find_groups(view);
  Diagnosis report;
  const RuleInput input = make_input(view, graph);
  report.verdict = decide(input);
  if (const FlightJob* job = input.recorded()) {
    report.steps = rank_steps(*job);
  }
  report.sources = find_sources(view, graph, report.verdict);
  report.coverage = cover(view);
  report.job = job_words(capture);
  report.of_cores = capture.job.source == snapshot::JobSource::kCore;
  if (report.of_cores) {
    fit_advice_to_cores(report.verdict.advice);
  }
  const std::vector<Role> roles = roles_of(view, graph, report.verdict);
  add_groups(view, roles, std::move(groups), report);
  for (const Slot& slot : graph.slots) {
    report.slots.push_back({slot.group, slot.op, slot.sequence, slot.words,
                            numbers_of(view, slot.inside), numbers_of(view, slot.absent),
                            slot.membership == Membership::kKnown});
  }
  report.notes = view.notes();
  add_node_notes(capture, report);
  std::ranges::sort(report.notes);
  std::transform(capture.job.notes.begin(), capture.job.notes.end(),
                 std::inserter(report.notes, report.notes.begin()),
                 [](const std::string& note) { return printable(note, 400); });
  if (std::string note = unexplained(view, graph, roles, report.verdict); !note.empty()) {
    report.notes.push_back(std::move(note));
  }
  if (std::string note = awaited_beside(input, roles, report.verdict); !note.empty()) {
    report.notes.push_back(std::move(note));
  }
  report.stores = store_tables(view);
  if (is_stall(report.verdict.kind) || report.verdict.kind == Kind::kUnknown) {
    std::ranges::copy(side_call_notes(view), std::back_inserter(report.notes));
    std::ranges::copy(store_notes(report.stores), std::back_inserter(report.notes));
  }
  std::ranges::copy(setup_notes(view), std::back_inserter(report.notes));
  for (const SourceFinding& source : report.sources) {
    report.notes.push_back(source_words(source));
  }
  return report;
}

}  // namespace oddrank::aggregate
