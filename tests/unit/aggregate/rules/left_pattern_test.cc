// Pipelines of several schedules, run in a model of NCCL's transfers (a rank runs ahead of its
// device by some calls; a send waits for what its rank has to receive before, and ends together
// with its receive), with one transfer left out or made twice somewhere: the rank at fault is
// named, or none.
#include "aggregate/rules/left_pattern.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/catch.h"
#include "tests/support/recorders.h"

namespace oddrank::aggregate {
namespace {

using tests::Recorders;

constexpr std::int32_t kStages = 4;
constexpr std::int32_t kAllRanks = -1;
const std::vector<std::int32_t> kPipeline = {0, 1, 2, 3};

struct Op {
  bool sends = false;
  std::int32_t peer = kAllRanks;  // of a transfer; else a collective of all
  int line = 0;
};
using Program = std::vector<Op>;  // of one rank

enum class Schedule : std::uint8_t { kGpipe = 0, kOneForwardOneBackward, kInterleaved };

struct Pipeline {
  Schedule schedule = Schedule::kGpipe;
  int microbatches = 4;
  bool reduces = true;    // a collective ends each step
  std::size_t ahead = 3;  // open calls that a rank may have
  std::size_t keeps = 0;  // newest calls that the ring holds; 0: all
};

void add_forward(Program& step, std::int32_t stage, bool wraps) {
  if (stage > 0 || wraps) {
    step.push_back({false, (stage + kStages - 1) % kStages, 10});
  }
}

void pass_on(Program& step, std::int32_t stage, bool wraps) {
  if (stage < kStages - 1 || wraps) {
    step.push_back({true, (stage + 1) % kStages, 11});
  }
}

void forward(Program& step, std::int32_t stage) {
  add_forward(step, stage, false);
  pass_on(step, stage, false);
}

void backward(Program& step, std::int32_t stage) {
  if (stage < kStages - 1) {
    step.push_back({false, stage + 1, 20});
  }
  if (stage > 0) {
    step.push_back({true, stage - 1, 21});
  }
}

Program step_of(const Pipeline& it, std::int32_t stage) {
  Program step;
  if (it.schedule == Schedule::kOneForwardOneBackward) {
    const int warm = std::min<int>(kStages - 1 - stage, it.microbatches);
    for (int i = 0; i < it.microbatches + warm; ++i) {
      if (i < it.microbatches) {
        forward(step, stage);
      }
      if (i >= warm) {
        backward(step, stage);
      }
    }
  } else {
    const int chunks = it.schedule == Schedule::kInterleaved ? 2 : 1;
    for (int i = 0; i < it.microbatches * chunks; ++i) {
      const int chunk = i / it.microbatches;
      add_forward(step, stage, chunk > 0);
      pass_on(step, stage, chunk < chunks - 1);
    }
    for (int i = 0; i < it.microbatches; ++i) {
      backward(step, stage);
    }
  }
  if (it.reduces) {
    step.push_back({false, kAllRanks, 30});
  }
  return step;
}

// The calls of all ranks, run until nothing moves.
class Run {
 public:
  Run(std::vector<Program> programs, std::size_t ahead)
      : programs_(std::move(programs)), made_(programs_.size()), ended_(programs_.size()) {
    while (advance(ahead)) {
    }
  }

  bool is_over() const {
    for (std::size_t at = 0; at < programs_.size(); ++at) {
      if (std::count(ended_[at].begin(), ended_[at].end(), true) !=
          static_cast<std::ptrdiff_t>(programs_[at].size())) {
        return false;
      }
    }
    return true;
  }

  Recorders recorders(std::size_t keeps) const {
    Recorders all(kStages);
    all.description = "default_pg";
    for (std::int32_t rank = 0; rank < kStages; ++rank) {
      const auto at = static_cast<std::size_t>(rank);
      auto& record = all.records[at];
      record.from_memory = true;
      for (std::size_t i = 0; i < made_[at]; ++i) {
        const Op& op = programs_[at][i];
        if (op.peer == kAllRanks) {
          all.call("0", kPipeline, {rank}, "all_reduce", ended_[at][i]);
        } else {
          all.transfer(rank, kPipeline, op.sends ? "send" : "recv", op.peer, ended_[at][i]);
        }
        record.entries.back().place =
            all.texts.string("step (p.py:" + std::to_string(op.line) + ")");
      }
      if (keeps != 0 && made_[at] > keeps) {
        all.lose(rank, made_[at] - keeps);
        record.shortened = true;
      }
    }
    return all;
  }

 private:
  using Key = std::tuple<std::int32_t, std::int32_t, bool>;  // from, to, of the sender

  bool advance(std::size_t ahead) {
    bool moved = false;
    for (std::size_t at = 0; at < programs_.size(); ++at) {
      const auto open = std::count(ended_[at].begin(), ended_[at].end(), false);
      if (made_[at] < programs_[at].size() && static_cast<std::size_t>(open) < ahead) {
        const Op& op = programs_[at][made_[at]];
        const auto rank = static_cast<std::int32_t>(at);
        const Key key = op.peer == kAllRanks ? Key{rank, kAllRanks, false}
                        : op.sends           ? Key{rank, op.peer, true}
                                             : Key{op.peer, rank, false};
        posted_[key].emplace_back(at, made_[at]++);
        ended_[at].push_back(false);
        moved = true;
      }
    }
    for (const auto& [key, mine] : posted_) {
      const auto& [from, to, sends] = key;
      for (std::size_t i = 0; i < mine.size(); ++i) {
        bool met = !ended_[mine[i].first][mine[i].second];
        for (std::int32_t rank = 0; rank < kStages && to == kAllRanks; ++rank) {
          const auto at = posted_.find({rank, kAllRanks, false});
          met = met && at != posted_.end() && at->second.size() > i && is_ready(at->second[i]);
        }
        if (to != kAllRanks) {
          const auto at = posted_.find({from, to, !sends});
          met = at != posted_.end() && at->second.size() > i &&
                is_ready(sends ? mine[i] : at->second[i]);
        }
        if (met) {
          ended_[mine[i].first][mine[i].second] = true;
        }
      }
    }
    return moved || settle();
  }

  // What is sent was computed from all that was received before.
  bool is_ready(std::pair<std::size_t, std::size_t> call) const {
    const auto& [rank, number] = call;
    for (std::size_t i = 0; i < number; ++i) {
      const Op& op = programs_[rank][i];
      if (!op.sends && !ended_[rank][i]) {
        return false;
      }
    }
    return true;
  }

  // Returns whether more calls have ended than before.
  bool settle() {
    std::size_t count = 0;
    for (const auto& row : ended_) {
      count += static_cast<std::size_t>(std::count(row.begin(), row.end(), true));
    }
    return std::exchange(settled_, count) != count;
  }

  std::vector<Program> programs_;
  std::vector<std::size_t> made_;
  std::vector<std::vector<bool>> ended_;
  std::map<Key, std::vector<std::pair<std::size_t, std::size_t>>> posted_;
  std::size_t settled_ = 0;
};

std::vector<Program> programs_of(const Pipeline& it, int steps) {
  std::vector<Program> programs(kStages);
  for (std::int32_t stage = 0; stage < kStages; ++stage) {
    auto& program = programs[static_cast<std::size_t>(stage)];
    if (it.reduces) {
      program.push_back({false, kAllRanks, 1});  // at the start only
    }
    for (int step = 0; step < steps; ++step) {
      const Program one = step_of(it, stage);
      program.insert(program.end(), one.begin(), one.end());
    }
  }
  return programs;
}

struct Score {
  int hangs = 0;  // because of a send
  int named = 0;  // of these
  int wrong = 0;
};

// Puts the fault at every transfer of the step in turn, on every rank.
Score try_all(const Pipeline& it, int step, bool leaves_out) {
  Score score;
  const std::vector<Program> healthy = programs_of(it, step + 2);
  REQUIRE(Run(healthy, it.ahead).is_over());
  for (std::int32_t rank = 0; rank < kStages; ++rank) {
    const auto stage = static_cast<std::size_t>(rank);
    const std::size_t length = step_of(it, rank).size();
    const std::size_t first = (it.reduces ? 1 : 0) + static_cast<std::size_t>(step) * length;
    for (std::size_t at = first; at < first + length; ++at) {
      if (healthy[stage][at].peer == kAllRanks) {
        continue;
      }
      std::vector<Program> programs = healthy;
      const auto place = programs[stage].begin() + static_cast<std::ptrdiff_t>(at);
      if (leaves_out) {
        programs[stage].erase(place);
      } else {
        programs[stage].insert(place, Op(*place));
      }
      const Run run(programs, it.ahead);
      const Recorders recorders = run.recorders(it.keeps);
      const FlightJob job = make_flight_job(recorders.records, recorders.texts);
      const auto found = left_out_transfers(job, kPipeline);
      // A receive that is left out is made up for by the next step's.
      const bool sends = healthy[stage][at].sends;
      score.hangs += sends && !run.is_over() ? 1 : 0;
      const bool wrong = std::any_of(found.begin(), found.end(),
                                     [&](const auto& one) { return one.rank != rank; });
      score.wrong += wrong ? 1 : 0;
      score.named += sends && !found.empty() && !wrong ? 1 : 0;
      if (wrong) {
        UNSCOPED_INFO("rank " << rank << " at " << at << ", named " << found.front().rank);
      }
    }
  }
  return score;
}

std::vector<Pipeline> all_pipelines() {
  std::vector<Pipeline> all;
  for (const auto schedule :
       {Schedule::kGpipe, Schedule::kOneForwardOneBackward, Schedule::kInterleaved}) {
    for (const int microbatches : {1, 4}) {
      for (const bool reduces : {true, false}) {
        for (const std::size_t ahead : {std::size_t{2}, std::size_t{6}}) {
          const Pipeline one{schedule, microbatches, reduces, ahead, 0};
          if (Run(programs_of(one, 2), ahead).is_over()) {
            all.push_back(one);
          }
        }
      }
    }
  }
  return all;
}

TEST_CASE("pipelines: a transfer that is left out names its rank, and never another") {
  int hangs = 0;
  int named = 0;
  for (const Pipeline& it : all_pipelines()) {
    for (const int step : {0, 2}) {
      CAPTURE(static_cast<int>(it.schedule), it.microbatches, it.reduces, it.ahead, step);
      const Score score = try_all(it, step, true);
      CHECK(score.wrong == 0);
      hangs += step >= 2 ? score.hangs : 0;
      named += step >= 2 ? score.named : 0;
    }
  }
  INFO(named << " of " << hangs);
  CHECK(named * 3 >= hangs * 2);  // the others are not proven, for now
}

TEST_CASE("pipelines: a transfer that is made once more is not one that was left out") {
  for (const Pipeline& it : all_pipelines()) {
    for (const int step : {0, 2}) {
      CAPTURE(static_cast<int>(it.schedule), it.microbatches, it.reduces, it.ahead, step);
      const Score score = try_all(it, step, false);
      CHECK(score.wrong == 0);
      CHECK(score.named == 0);
    }
  }
}

TEST_CASE("pipelines: a ring that has lost its beginning does not take a microbatch for a step") {
  int named = 0;
  for (Pipeline it : all_pipelines()) {
    if (it.microbatches == 1 || it.ahead > 2) {
      continue;
    }
    for (const std::size_t keeps : {std::size_t{9}, std::size_t{64}}) {
      it.keeps = keeps;
      for (const int step : {0, 3}) {
        CAPTURE(static_cast<int>(it.schedule), it.microbatches, it.reduces, it.ahead, keeps, step);
        const Score score = try_all(it, step, true);
        CHECK(score.wrong == 0);
        CHECK(try_all(it, step, false).wrong == 0);
        named += score.named;
      }
    }
  }
  CHECK(named > 0);
}

}  // namespace
}  // namespace oddrank::aggregate
