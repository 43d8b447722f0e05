#include "report/report_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "aggregate/view/rank_set.h"
#include "base/printable.h"
#include "base/span_words.h"
#include "report/call_lines.h"
#include "report/coverage_words.h"
#include "report/explain_text.h"
#include "report/process_text.h"
#include "report/style.h"

namespace oddrank::report {
namespace {

// Limits that make a report fit into 24 lines.
constexpr std::size_t kMaxCulpritFrames = 4;
constexpr std::size_t kMaxWaitingFrames =
    3;  // of a culprit that waits for a process shown below it
constexpr std::size_t kMaxAwaitedFrames = 2;
constexpr std::size_t kMaxGroupFrames = 4;
constexpr std::size_t kMaxMainFrames = 3;
constexpr std::size_t kMaxGroupsWithStack = 3;
constexpr std::size_t kMaxGroups = 12;
constexpr std::size_t kMaxDifferences = 3;
constexpr std::size_t kFewestFoldedLinks = 5;
constexpr std::size_t kMaxUnread = 6;
constexpr std::size_t kMaxAdvice = 3;
constexpr std::size_t kRankColumns = 40;
constexpr std::size_t kWhyIndent = 6;  // of the text after "Why", "Next", "Or"

std::string ranks_title(const std::vector<std::int32_t>& ranks) {
  return fmt::format("{} {}", ranks.size() == 1 ? "rank" : "ranks",
                     aggregate::format_ranks_within(ranks, kRankColumns));
}

// Returns "ranks 0-4,6-7" for "0-4,6-7" and "rank 5" for "5"; anything else stays as it is.
std::string party(const std::string& who) {
  if (who.empty() || who.find_first_not_of("0123456789-,") != std::string::npos) {
    return who;
  }
  const bool many = who.find_first_of("-,") != std::string::npos;
  return fmt::format("{} {}", many ? "ranks" : "rank", cut_end(who, kRankColumns));
}

std::string heading(const aggregate::Diagnosis& report, const Style& style) {
  const aggregate::Verdict& verdict = report.verdict;
  const std::string kind(aggregate::kind_name(verdict.kind));
  const auto lines =
      wrap(fmt::format("{}: {}", kind_words(verdict.kind, verdict.confidence), verdict.summary),
           style.width());
  std::string text;
  for (const std::string& line : lines) {
    const bool first = text.empty();
    const std::string head = first ? line.substr(0, kind.size()) : std::string();
    const aggregate::Tone tone = aggregate::kind_tone(verdict.kind);
    text += (tone == aggregate::Tone::kFine   ? style.good(head)
             : tone == aggregate::Tone::kOpen ? style.warn(head)
                                              : style.bad(head)) +
            style.bold(line.substr(head.size())) + '\n';
  }
  const auto cover = wrap(coverage_words(report), style.width());
  for (const std::string& line : cover) {
    text += (report.coverage.complete() ? line : style.warn(line)) + '\n';
  }
  return text;
}

std::string unread_lines(const aggregate::Diagnosis& report, const Style& style) {
  std::string text;
  std::size_t shown = 0;
  for (const aggregate::Unread& unread : report.coverage.unread) {
    if (++shown > kMaxUnread) {
      text += fmt::format("          ... {} more reasons, see --json\n",
                          report.coverage.unread.size() - kMaxUnread);
      break;
    }
    const std::string who = unread_title(unread, kRankColumns);
    const std::string where = unread.host.empty() ? "" : fmt::format(" ({})", unread.host);
    text += style.paragraph(fmt::format("{:<10}", fmt::format("{}:", unread_words(unread))),
                            fmt::format("{}{}: {}", who, where, unread.why), 10);
  }
  return text;
}

// Returns the end of the links from `begin` on that are in the same words.
std::size_t end_of_like(const std::vector<aggregate::ChainLink>& chain, std::size_t begin) {
  std::size_t end = begin + 1;
  while (end < chain.size() && chain[end].on == chain[begin].on) {
    ++end;
  }
  return end;
}

std::string chain_lines(const aggregate::Diagnosis& report, const Style& style) {
  std::string text;
  const std::vector<aggregate::ChainLink>& chain = report.verdict.chain;
  std::size_t begin = 0;  // of links that are alike
  std::size_t end = 0;
  for (std::size_t at = 0; at < chain.size(); ++at) {
    const aggregate::ChainLink& link = chain[at];
    if (at == end) {
      begin = at;
      end = end_of_like(chain, at);
    }
    // Each stage of a pipeline waits for the next one, so showing the first and the last is enough.
    if (end - begin >= kFewestFoldedLinks && at > begin && at + 1 < end) {
      text += at > begin + 1
                  ? ""
                  : fmt::format("      ... {} like this\n", count_of(end - begin - 2, "more link"));
      continue;
    }
    const std::string waiters = party(link.waiters);
    const bool many = are_many(waiters);
    std::string line = fmt::format("{} wait{} for {}: {}", waiters, many ? "" : "s",
                                   party(link.waits_for), link.on);
    const std::string with_evidence = fmt::format("{} [{}]", line, link.evidence);
    if (!link.evidence.empty() && columns(with_evidence) + kWhyIndent <= style.width()) {
      line = with_evidence;
    }
    text += style.paragraph(text.empty() ? "Why   " : "      ", line, kWhyIndent);
  }
  return text.empty() ? text : '\n' + text;
}

// Prints lines below each other, the first one behind the label; "" if there are none.
std::string labelled(std::string_view label,
                     const std::vector<std::string>& lines,
                     const Style& style) {
  std::string text;
  for (const std::string& line : lines) {
    text += style.paragraph(text.empty() ? label : "      ", line, kWhyIndent);
  }
  return text.empty() ? text : '\n' + text;
}

// Prints what changed since an earlier capture.
std::string since_lines(const aggregate::Diagnosis& report, const Style& style) {
  if (!report.since) {
    return {};
  }
  std::string text = fmt::format("\nSince the capture {} before:\n",
                                 span_words(UnsignedMicroseconds(report.since->apart_us)));
  for (const aggregate::ChangedRanks& row : report.since->changes) {
    const std::string who =
        row.ranks.empty() ? count_of(row.count, "process") : ranks_title(row.ranks);
    text += style.paragraph("      ", fmt::format("{}: {}", who, row.words), kWhyIndent);
  }
  return text;
}

std::string after_comma(const std::string& words) {
  return words.empty() ? words : ", " + words;
}

// Returns "train.py, pid 71" or "3 processes: Rollout, Learner, pids 71,72,..."; without labels
// "pid 71" or "3 processes: pids 71,72,...".
std::string pids_title(const aggregate::ReportedGroup& group) {
  constexpr std::size_t kMaxShownPids = 6;
  std::string list;
  std::vector<std::string> titles;
  for (std::size_t i = 0; i < group.pids.size() && i < kMaxShownPids; ++i) {
    list += (i == 0 ? "" : ",") + std::to_string(group.pids[i]);
    if (!group.labels[i].empty() && std::ranges::find(titles, group.labels[i]) == titles.end()) {
      titles.push_back(group.labels[i]);
    }
  }
  const bool many = group.pids.size() > 1;
  titles.push_back(
      fmt::format("pid{} {}{}", many ? "s" : "", list, group.count > kMaxShownPids ? ",..." : ""));
  const std::string text = fmt::format("{}", fmt::join(titles, ", "));
  return many ? fmt::format("{}: {}", count_of(group.count, "process"), text) : text;
}

// Returns the host and the place in the job's dimensions; `most`: of how many dimensions.
std::string where_words(const aggregate::ReportedGroup& group, std::size_t most) {
  std::string places = group.coordinates;
  std::size_t end = 0;
  for (std::size_t i = 0; i < most && end != std::string::npos; ++i) {
    end = places.find(' ', i == 0 ? 0 : end + 1);
  }
  places = places.substr(0, end);
  std::string where = cut_end(group.hosts, 30);
  if (!places.empty()) {
    where += (where.empty() ? "" : ", ") + places;
  }
  return where.empty() ? where : fmt::format(" ({})", where);
}

// The words on what the ranks do are never cut off: instead places are left out, except the first
// ones, and if that is not enough the words get lines of their own.
std::string group_title(const aggregate::ReportedGroup& group, const Style& style) {
  constexpr std::size_t kMaxPlaces = 8;
  constexpr std::size_t kFewestPlaces = 2;
  const std::string who =
      group.ranks.empty() ? pids_title(group)
                          : fmt::format("{}: {}", count_of(group.count, "rank"),
                                        aggregate::format_ranks_within(group.ranks, kRankColumns));
  const std::string since = after_comma(group.quiet.words());
  const std::string shown = group.culprit ? style.bad(who) : style.bold(who);
  const auto fits = [&](const std::string& where, const std::string& what) {
    return columns(who) + columns(where) + 2 + columns(what) <= style.width();
  };
  const auto most = static_cast<std::size_t>(
      std::count(group.coordinates.begin(), group.coordinates.end(), ' ') + 1);
  std::size_t places = std::min(most, kMaxPlaces);
  while (places > kFewestPlaces && !fits(where_words(group, places), group.phase + since)) {
    --places;
  }
  const std::string where = where_words(group, places);
  if (fits(where, group.phase)) {
    return fmt::format("{}{}  {}\n", shown, style.dim(where),
                       fits(where, group.phase + since) ? group.phase + since : group.phase);
  }
  return fmt::format("{}{}\n{}", shown, style.dim(where),
                     style.paragraph("  ", group.phase + since, 2));
}

std::size_t frames_shown(const aggregate::ReportedGroup& group) {
  return !group.awaited.empty() ? kMaxWaitingFrames
         : group.culprit        ? kMaxCulpritFrames
                                : kMaxGroupFrames;
}

// Prints the locals of ranks in one group that are in different iterations.
std::string difference_lines(const aggregate::ReportedGroup& group, const Style& style, bool full) {
  std::string text;
  std::size_t shown = 0;
  for (const aggregate::LocalDifference& difference : group.differences) {
    if (!full && shown == kMaxDifferences) {
      text += fmt::format("  ... {} (--full-stacks shows all)\n",
                          count_of(group.differences.size() - shown, "more such variable"));
      break;
    }
    ++shown;
    text += style.paragraph(
        "  ",
        fmt::format("{} in {} ({})", difference.words(), difference.function, difference.place), 4);
  }
  return text;
}

std::string group_lines(const aggregate::Diagnosis& report, const Style& style, bool full) {
  std::string text = "\n";
  std::size_t shown = 0;
  for (const aggregate::ShownGroup& row : report.shown) {
    if (!full && shown >= kMaxGroups) {
      text += fmt::format("... {}\n", count_of(report.shown.size() - shown, "more group"));
      break;
    }
    const aggregate::ReportedGroup& group = report.group_of(row);
    text += group_title(group, style);
    text += difference_lines(group, style, full);
    if (full || shown < kMaxGroupsWithStack) {
      text += style.stack_lines(group.stack, 4, frames_shown(group));
      if (!group.main_stack.frames.empty()) {
        text += "  the main thread:\n" + style.stack_lines(group.main_stack, 4, kMaxMainFrames);
      }
      for (const aggregate::ReportedProcess& process : group.awaited) {
        text += fmt::format("  {}, pid {}{}:{}\n", process.what, process.pid,
                            after_comma(process.quiet.words()),
                            process.stack.frames.empty() ? " " + process.stuck : "");
        text += style.stack_lines(process.stack, 4, kMaxAwaitedFrames);
      }
    }
    ++shown;
  }
  return shown == 0 ? std::string() : text;
}

std::string advice_lines(const aggregate::Diagnosis& report, const Style& style, bool full) {
  std::string text;
  std::size_t shown = 0;
  const std::vector<std::string> advices = advice_words(report.verdict.advice);
  for (const std::string& advice : advices) {
    if (!full && shown == kMaxAdvice) {
      text += fmt::format("      ... {} more (--full-stacks shows all)\n", advices.size() - shown);
      break;
    }
    ++shown;
    text += style.paragraph(text.empty() ? "Next  " : "      ", advice, kWhyIndent);
  }
  return text.empty() ? text : '\n' + text;
}

// Prints the other stories that hold the job up.
std::string also_lines(const aggregate::Diagnosis& report, const Style& style) {
  std::vector<std::string> lines;
  for (const aggregate::OtherStory& other : report.verdict.also) {
    lines.push_back(fmt::format("{}: {}", aggregate::kind_name(other.kind), other.summary));
  }
  return labelled("Also  ", lines, style);
}

std::string footnotes(const aggregate::Diagnosis& report, const Style& style) {
  std::vector<std::string> others;
  for (const aggregate::Alternative& other : report.verdict.alternatives) {
    others.push_back(fmt::format("{}: {}. Why not: {}", aggregate::kind_name(other.kind),
                                 other.summary, other.why_not));
  }
  return labelled("Or    ", others, style) + labelled("Note  ", report.notes, style);
}

}  // namespace

std::string report_sentence(const aggregate::Diagnosis& report) {
  return fmt::format("{}: {}\n", kind_words(report.verdict.kind, report.verdict.confidence),
                     report.verdict.summary);
}

std::string report_text(const aggregate::Diagnosis& report,
                        const snapshot::Capture& capture,
                        const TextOptions& options) {
  aggregate::FrameModel model(capture.tables);
  return report_text(report, aggregate::JobView(capture, model), options);
}

std::string report_text(const aggregate::Diagnosis& report,
                        const aggregate::JobView& view,
                        const TextOptions& options) {
  const Style style(options);
  std::string text = heading(report, style) + also_lines(report, style) +
                     unread_lines(report, style) + chain_lines(report, style) +
                     labelled("Calls ", history_lines(report.verdict.history), style) +
                     labelled("Steps ", skew_lines(report.steps), style) +
                     since_lines(report, style) + group_lines(report, style, options.full_stacks) +
                     advice_lines(report, style, options.full_stacks) + footnotes(report, style);
  if (report.explanation) {
    text += explain_text(*report.explanation, options);
  }
  if (options.all_threads) {
    std::vector<const snapshot::ProcessCapture*> processes;
    for (const auto& process : view.capture().processes) {
      processes.push_back(&process);
    }
    std::sort(processes.begin(), processes.end(), [](const auto* a, const auto* b) {
      return std::tuple(a->node, a->owner, !a->is_rank, a->pid) <
             std::tuple(b->node, b->owner, !b->is_rank, b->pid);
    });
    for (const auto* process : processes) {
      text += '\n' + print_process(view, *process, options);
    }
  }
  return text;
}

}  // namespace oddrank::report
