// The lines as PyTorch (ProcessGroupNCCL.cpp, TraceUtils.h) and NCCL (debug.cc, init.cc) write
// them:
//
//   [rank3]:[E1121 ...] [PG ID 1 PG GUID 5(tp) Rank 3] Watchdog caught collective operation
//   timeout:
//     WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=4, ..., Timeout(ms)=600000) ran for 600029 ...
//   [rank3]:[E1121 ...] [TC][rank=1][name=5] Watchdog caught collective operation timeout: NCCL
//     operation timed out                       (nccl2, from torch 2.14 on; the rank in the group)
//    - [1, 2] finished collective #10, but didn't join collective #11 (count from 1)
//    - To our best knowledge, ranks [1] are the lagging ranks that caused this timeout. ...
//   n0:71:90 [0] NCCL WARN ...
//   n0:71:90 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 8 ... - Init START
//
// and as srun does (srun/libsrun/task_state.c and launch.c, SLURM 20.11 to 25.11):
//
//   srun: error: n1: task 3: Exited with exit code 1
//   srun: error: n[0-1]: tasks 0-1,3: Killed
#include "collectives/around/log_lines.h"

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "base/ascii.h"
#include "base/parse_number.h"
#include "base/split.h"
#include "snapshot/rank_text.h"

namespace oddrank::collectives {
namespace {

using snapshot::LogKind;
using snapshot::LogLine;

constexpr std::size_t kMaxNamedRanks = 4096;  // named by one line
constexpr std::size_t kMaxKeptLine = 300;     // of a line that is kept

// Returns the text between `mark` and one of `ends`; "" if the mark is not there.
std::string_view behind(std::string_view line, std::string_view mark, std::string_view ends) {
  const auto at = line.find(mark);
  if (at == std::string_view::npos) {
    return {};
  }
  line.remove_prefix(at + mark.size());
  return line.substr(0, line.find_first_of(ends));
}

// Returns the global rank that torchrun and PyTorch's own handler write at the start of a line.
std::int32_t rank_in(std::string_view line) {
  return parse_number<std::int32_t>(behind(line, "[rank", "]")).value_or(-1);
}

// Returns the last list of numbers in brackets before `end`: "[1, 2] finished ...".
std::vector<std::int32_t> ranks_before(std::string_view line, std::string_view end) {
  const std::string_view head = line.substr(0, line.find(end));
  const auto close = head.rfind(']');
  const auto open = close == std::string_view::npos ? close : head.rfind('[', close);
  std::vector<std::int32_t> ranks;
  if (open == std::string_view::npos) {
    return ranks;
  }
  std::string_view list = head.substr(open + 1, close - open - 1);
  while (!list.empty()) {
    const auto rank = parse_number<std::int32_t>(trim(take_piece(list, ',')));
    if (!rank || *rank < 0 || ranks.size() >= kMaxNamedRanks) {
      return {};
    }
    ranks.push_back(*rank);
  }
  return ranks;
}

// A line before it is written into the tables; only the last ones of each kind are.
struct Found {
  LogLine line;
  std::string_view text;
  std::string_view op;
};

class Reader {
 public:
  Reader(std::int32_t rank, snapshot::Tables& tables) : rank_(rank), tables_(tables) {}
  LogLines run(std::string_view text);

 private:
  Found found(LogKind kind, std::string_view text) const;
  void keep(Found one);
  void read(std::string_view text);
  // Reads the two lines of the report that name the ranks at fault; the states of all follow them.
  void read_desync(std::string_view text);
  // Reads "host:pid:tid [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 ...".
  void read_init(std::string_view text);
  // Reads "srun: error: n1: task 3: Exited with exit code 1".
  void read_task_end(std::string_view text);
  // Returns the lines that are kept, in the order of the text.
  std::vector<LogLine> kept();

  std::int32_t rank_;
  snapshot::Tables& tables_;
  std::size_t read_ = 0;
  std::size_t left_out_ = 0;
  std::map<LogKind, std::deque<std::pair<std::size_t, Found>>> last_;
  std::map<std::string, Found> starting_;  // by process, thread and communicator
};

LogLines Reader::run(std::string_view text) {
  while (!text.empty()) {
    read(trim(take_piece(text, '\n')));
  }
  for (auto& entry : starting_) {
    keep(std::move(entry.second));
  }
  return {kept(), left_out_};
}

Found Reader::found(LogKind kind, std::string_view text) const {
  Found one;
  one.line.kind = kind;
  const std::int32_t named = rank_in(text);
  one.line.rank = named >= 0 ? named : rank_;
  one.text = text.substr(0, kMaxKeptLine);
  return one;
}

void Reader::keep(Found one) {
  auto& last = last_[one.line.kind];
  last.push_back({read_++, std::move(one)});
  if (last.size() > kMaxLinesOfKind) {
    last.pop_front();
    ++left_out_;
  }
}

void Reader::read(std::string_view text) {
  constexpr std::string_view kTimeout = "Watchdog caught collective operation timeout";
  if (contains(text, kTimeout)) {
    Found one = found(LogKind::kWatchdogTimeout, text);
    one.line.sequence = parse_number<std::int64_t>(behind(text, "SeqNum=", ",)")).value_or(-1);
    one.op = behind(text, "OpType=", ",)").substr(0, 60);
    keep(std::move(one));
  } else if (contains(text, "NCCL WARN ")) {
    keep(found(LogKind::kWarning, text));
  } else if (contains(text, " - Init START") || contains(text, " - Init COMPLETE")) {
    read_init(text);
  } else if (text.starts_with("srun: ")) {
    read_task_end(text);
  } else {
    read_desync(text);
  }
}

void Reader::read_desync(std::string_view text) {
  constexpr std::array<std::string_view, 3> kMarks = {
      " are the lagging ranks", " joined but didn't finish collective #", " finished collective #"};
  for (const std::string_view mark : kMarks) {
    if (!contains(text, mark)) {
      continue;
    }
    Found one = found(LogKind::kDesync, text);
    one.line.behind = ranks_before(text, mark);
    // Ranks that finished the call before and did not join this one, or joined no call at all.
    const bool lag = mark == kMarks[0] || contains(text, "but didn't join collective #");
    if (!one.line.behind.empty() && lag) {
      keep(std::move(one));
    }
    return;
  }
}

void Reader::read_init(std::string_view text) {
  const std::string key =
      std::string(text.substr(0, text.find(' '))) + " " + std::string(behind(text, "comm ", " "));
  if (contains(text, " - Init COMPLETE")) {
    starting_.erase(key);
  } else if (starting_.size() < kMaxNamedRanks) {
    starting_.insert_or_assign(key, found(LogKind::kInit, text));
  }
}

void Reader::read_task_end(std::string_view text) {
  for (const std::string_view mark : {std::string_view(": task "), std::string_view(": tasks ")}) {
    const std::string_view list = behind(text, mark, ":");
    if (list.empty()) {
      continue;
    }
    Found one = found(LogKind::kTaskEnd, text);
    one.line.behind = snapshot::ranks_of(list, kMaxNamedRanks);
    // What follows the list must be on the part of the line that is kept.
    const auto how = static_cast<std::size_t>(list.data() - text.data()) + list.size();
    if (!one.line.behind.empty() && text.substr(how).starts_with(": ") && how + 2 < kMaxKeptLine) {
      keep(std::move(one));
    }
    return;
  }
}

std::vector<LogLine> Reader::kept() {
  std::map<std::size_t, LogLine> lines;
  for (auto& kind : last_) {
    for (auto& [at, one] : kind.second) {
      one.line.text = tables_.string(one.text);
      one.line.op = tables_.string(one.op);
      lines.emplace(at, std::move(one.line));
    }
  }
  std::vector<LogLine> list;
  list.reserve(lines.size());
  for (auto& entry : lines) {
    list.push_back(std::move(entry.second));
  }
  return list;
}

}  // namespace

LogLines read_log_lines(std::string_view text, std::int32_t rank, snapshot::Tables& tables) {
  return Reader(rank, tables).run(text);
}

}  // namespace oddrank::collectives
