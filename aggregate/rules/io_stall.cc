// A rank in uninterruptible sleep, or in a system call on a file that does not return.
#include <algorithm>

#include <fmt/format.h>

#include "aggregate/blame/local_story.h"
#include "aggregate/rules/all_rules.h"
#include "aggregate/words/advised_path.h"
#include "aggregate/words/wait_words.h"

namespace oddrank::aggregate {
namespace {

// Returns whether the rank was in D in all samples, or as long as the reader waited. One sample may
// meet any disk access.
bool stays_in_d(const RankView& rank) {
  if (rank.decider == nullptr || rank.decider->samples.size() < 2) {
    return rank.presence == Presence::kPartial && rank.state() == 'D';
  }
  const auto& samples = rank.decider->samples;
  // A rank that used the CPU in between was not in D all the time.
  return !rank.motion.stack && !rank.motion.cpu &&
         std::ranges::all_of(samples, [](const auto& sample) { return sample.state == 'D'; });
}

// Returns which process should read from a pipe that is full.
std::string reader_words(const JobView& view, const RankView& rank) {
  const pid_t reader = rank.decider->wait.holder_pid;
  if (is_at_own_end(rank)) {
    return "only this process has its other end, and no thread of it reads from it";
  }
  return reader == 0 ? std::string("which process should read from it is not known")
                     : fmt::format("pid {}{} does not read from it", reader,
                                   has_end_outside(view, rank) ? ", outside of the job," : "");
}

std::string io_predicate(const JobView& view, const RankView& rank) {
  if (waits_for_reader(view, rank)) {
    return fmt::format("writes to a {} that is full (fd {}): {}", wait_name(rank.decider->wait.on),
                       rank.decider->wait.fd, reader_words(view, rank));
  }
  const std::string call =
      rank.decider == nullptr ? "" : system_call_words(view, *rank.decider, true);
  if (call.empty()) {
    return "is in uninterruptible sleep (state D)";
  }
  return "is stuck in " + call +
         (opens_named_pipe(view, rank) ? ": a named pipe of which nobody opens the other end" : "");
}

// Returns whether the kernel itself says that it waits in a pipe: pipe_read(), anon_pipe_write().
bool is_pipe(const JobView& view, const RankView& rank) {
  return rank.decider != nullptr &&
         view.text(rank.decider->wait.wchan).find("pipe_") != std::string_view::npos;
}

std::vector<Advice> io_advice(const JobView& view, const RankView& rank) {
  const WaitsFor wait = waits_for(view, rank);
  const bool named = !wait.path.empty() && wait.path.front() == '/';
  if (opens_named_pipe(view, rank) && named) {
    return {on(rank, fmt::format("lsof {}  (which process should open the other end?)",
                                 advised_path(view, *rank.process, wait.path))),
            "start that process (to remove the pipe does not free an open() that waits already)"};
  }
  if (waits_for_reader(view, rank)) {
    const pid_t reader = rank.decider->wait.holder_pid;
    if (is_at_own_end(rank)) {
      return {on_live(rank, fmt::format("oddrank node {} --all-threads", rank.pid())),
              "start the thread that reads before anything is written, and let it read to the end"};
    }
    return {reader == 0 ? on(rank, fmt::format("lsof -p {} +E  (who has the other end of fd {}?)",
                                               rank.pid(), rank.decider->wait.fd))
                        : on_live(rank, fmt::format("ps -fp {}; oddrank node {}  (the reader)",
                                                    reader, reader)),
            "let the reader go on reading, or send this output to a file"};
  }
  std::vector<Advice> advice = {on_live(
      rank, fmt::format("cat /proc/{}/stack  (as root: what the kernel waits in)", rank.pid()))};
  if (named && is_pipe(view, rank)) {
    advice.push_back(on(rank, fmt::format("lsof {}  (who has the other end of this pipe?)",
                                          advised_path(view, *rank.process, wait.path))));
  } else if (named) {
    advice.push_back(on(rank, fmt::format("findmnt -T {}; then look at that server",
                                          advised_path(view, *rank.process, wait.path))));
  }
  advice.push_back(on(rank, "dmesg -T | grep -i -E 'not responding|blocked for' | tail"));
  return advice;
}

}  // namespace

std::vector<Finding> io_stall(const RuleInput& input) {
  const std::vector<std::size_t>& ranks = input.with_story;
  const RankView& first = input.end(ranks.front()).view();
  const bool d_state = first.state() == 'D';
  const bool lasting = stays_in_d(first);
  Finding finding = accuse(input, d_state && lasting ? Evidence::kState : Evidence::kOwnStall);
  if (d_state && !lasting) {
    finding.at_most(Confidence::kPossible);
  }
  finding.summary = sentence_of_end(
      input, ranks, [&input](const RankView& rank) { return io_predicate(input.view, rank); });
  for (Culprit& culprit : finding.culprits) {
    culprit.waits_for.what =
        waits_for_reader(input.view, first) ? first.decider->wait.on : snapshot::WaitOn::kFile;
  }
  finding.advice = io_advice(input.view, first);
  finding.disproves = {d_state ? "the rank leaving state D by itself"
                               : "the rank going on by itself"};
  finding.weakness = "a short access to a disk looks the same in one sample";
  return {finding};
}

}  // namespace oddrank::aggregate
