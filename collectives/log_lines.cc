// The lines as PyTorch (ProcessGroupNCCL.cpp, TraceUtils.h) and NCCL (debug.cc, init.cc) write
// them:
//
//   [rank3]:[E1121 ...] [PG ID 1 PG GUID 5(tp) Rank 3] Watchdog caught collective operation
//   timeout:
//     WorkNCCL(SeqNum=12, OpType=ALLREDUCE, NumelIn=4, ..., Timeout(ms)=600000) ran for 600029 ...
//    - [1, 2] finished collective #10, but didn't join collective #11 (count from 1)
//    - To our best knowledge, ranks [1] are the lagging ranks that caused this timeout. ...
//   n0:71:90 [0] NCCL WARN ...
//   n0:71:90 [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 nranks 8 ... - Init START
#include "collectives/log_lines.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>

#include "base/parse_number.h"
#include "base/split.h"

namespace oddrank::collectives {
namespace {

using snapshot::LogKind;
using snapshot::LogLine;

constexpr std::size_t kMostOfKind = 32;
constexpr std::size_t kMostRanks = 4096;  // that one line names
constexpr std::size_t kLongest = 300;     // of a line that is kept

bool has(std::string_view line, std::string_view part) {
  return line.find(part) != std::string_view::npos;
}

// What stands between `mark` and one of `ends`; "" if the mark is not there.
std::string_view behind(std::string_view line, std::string_view mark, std::string_view ends) {
  const auto at = line.find(mark);
  if (at == std::string_view::npos) {
    return {};
  }
  line.remove_prefix(at + mark.size());
  return line.substr(0, line.find_first_of(ends));
}

// torchrun and PyTorch's own handler put the global rank in front.
std::int32_t rank_in(std::string_view line) {
  return parse_number<std::int32_t>(behind(line, "[rank", "]")).value_or(-1);
}

// The last list of numbers in brackets before `end`: "[1, 2] finished ...".
std::vector<std::int32_t> ranks_before(std::string_view line, std::string_view end) {
  const std::string_view head = line.substr(0, line.find(end));
  const auto close = head.rfind(']');
  const auto open = close == std::string_view::npos ? close : head.rfind('[', close);
  std::vector<std::int32_t> ranks;
  if (open == std::string_view::npos) {
    return ranks;
  }
  for (const std::string_view piece : split(head.substr(open + 1, close - open - 1), ',')) {
    const auto rank = parse_number<std::int32_t>(trim(piece));
    if (!rank || *rank < 0 || ranks.size() >= kMostRanks) {
      return {};
    }
    ranks.push_back(*rank);
  }
  return ranks;
}

class Reader {
 public:
  Reader(std::int32_t rank, snapshot::Tables& tables) : rank_(rank), tables_(tables) {}

  std::vector<LogLine> run(std::string_view text) {
    for (const std::string_view raw : split(text, '\n')) {
      read(trim(raw));
    }
    for (const auto& entry : starting_) {
      found_.push_back(entry.second);
    }
    return last_of_each_kind();
  }

 private:
  LogLine line_of(LogKind kind, std::string_view text) {
    LogLine line;
    line.kind = kind;
    const std::int32_t named = rank_in(text);
    line.rank = named >= 0 ? named : rank_;
    line.text = tables_.string(text.substr(0, kLongest));
    return line;
  }

  void read(std::string_view text) {
    constexpr std::string_view kTimeout = "Watchdog caught collective operation timeout";
    if (has(text, kTimeout)) {
      LogLine line = line_of(LogKind::kWatchdogTimeout, text);
      line.sequence = parse_number<std::int64_t>(behind(text, "SeqNum=", ",)")).value_or(-1);
      line.op = tables_.string(behind(text, "OpType=", ",)").substr(0, 60));
      found_.push_back(std::move(line));
    } else if (has(text, "NCCL WARN ")) {
      found_.push_back(line_of(LogKind::kWarning, text));
    } else if (has(text, " - Init START") || has(text, " - Init COMPLETE")) {
      read_init(text);
    } else {
      read_desync(text);
    }
  }

  // Of the report only the two lines that name the ranks at fault; the states of all follow them.
  void read_desync(std::string_view text) {
    constexpr std::array<std::string_view, 3> kMarks = {" are the lagging ranks",
                                                        " joined but didn't finish collective #",
                                                        " finished collective #"};
    for (const std::string_view mark : kMarks) {
      if (!has(text, mark)) {
        continue;
      }
      LogLine line = line_of(LogKind::kDesync, text);
      line.behind = ranks_before(text, mark);
      // Those who finished the call before and did not join this one, or joined none at all.
      const bool lag = mark == kMarks[0] || has(text, "but didn't join collective #");
      if (!line.behind.empty() && lag) {
        found_.push_back(std::move(line));
      }
      return;
    }
  }

  // "host:pid:tid [0] NCCL INFO ncclCommInitRank comm 0x55 rank 0 ..."
  void read_init(std::string_view text) {
    const std::string key =
        std::string(text.substr(0, text.find(' '))) + " " + std::string(behind(text, "comm ", " "));
    if (has(text, " - Init COMPLETE")) {
      starting_.erase(key);
    } else if (starting_.size() < kMostRanks) {
      starting_.insert_or_assign(key, line_of(LogKind::kInit, text));
    }
  }

  std::vector<LogLine> last_of_each_kind() {
    std::map<LogKind, std::size_t> kept;
    std::vector<LogLine> lines;
    std::for_each(found_.rbegin(), found_.rend(), [&kept, &lines](LogLine& line) {
      if (kept[line.kind]++ < kMostOfKind) {
        lines.push_back(std::move(line));
      }
    });
    std::reverse(lines.begin(), lines.end());
    return lines;
  }

  std::int32_t rank_;
  snapshot::Tables& tables_;
  std::vector<LogLine> found_;
  std::map<std::string, LogLine> starting_;  // by process, thread and communicator
};

}  // namespace

std::vector<LogLine> read_log_lines(std::string_view text,
                                    std::int32_t rank,
                                    snapshot::Tables& tables) {
  return Reader(rank, tables).run(text);
}

}  // namespace oddrank::collectives
