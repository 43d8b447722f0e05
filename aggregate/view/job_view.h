// A capture seen as a job: which ranks there should be, which process is which rank, which thread
// is its decider, and whether it moved. All analysis starts from here.
//
// Caches the words of collectives: all members of a group are in the same call, and each rank's
// words are needed several times.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "aggregate/flight/flight_facts.h"
#include "aggregate/frames/frame_model.h"
#include "aggregate/view/coroutines.h"
#include "aggregate/view/rank_view.h"
#include "snapshot/capture.h"
#include "snapshot/collective_call.h"
#include "snapshot/intern_table.h"
#include "snapshot/rank_text.h"

namespace oddrank::aggregate {

class CallWords {
 public:
  // Returns make(), or its earlier result for an equal call (equal but for the evidence).
  template <typename Make>
  const std::string& of(snapshot::CollectiveCall call, const Make& make);

 private:
  struct Hash {
    std::size_t operator()(const snapshot::CollectiveCall& call) const;
  };

  std::unordered_map<snapshot::CollectiveCall, std::string, Hash> words_;
};

template <typename Make>
const std::string& CallWords::of(snapshot::CollectiveCall call, const Make& make) {
  call.evidence = {};
  const auto at = words_.find(call);
  return at != words_.end() ? at->second : words_.emplace(call, make()).first->second;
}

inline std::size_t CallWords::Hash::operator()(const snapshot::CollectiveCall& call) const {
  std::size_t hash =
      snapshot::hash_mix(static_cast<std::size_t>(call.op), static_cast<std::size_t>(call.members));
  hash = snapshot::hash_mix(hash, static_cast<std::size_t>(call.group));
  hash = snapshot::hash_mix(hash, static_cast<std::size_t>(call.label));
  hash = snapshot::hash_mix(hash, static_cast<std::size_t>(call.sequence));
  return snapshot::hash_mix(hash, static_cast<std::size_t>(call.root));
}

class JobView {
 public:
  // Borrows both for its lifetime.
  JobView(const snapshot::Capture& capture, FrameModel& model);

  const snapshot::Capture& capture() const { return capture_; }
  FrameModel& model() const { return model_; }
  std::string_view text(snapshot::StringId id) const;
  // Parses a list of ranks that is kept as text (snapshot/rank_text.h), each text once: thousands
  // of ranks share the members of a group. Empty if the text is not a list. Not thread-safe.
  const std::vector<std::int32_t>& ranks_of(snapshot::StringId text) const;
  // Returns the same list in at most 40 characters ("0-3,8,..."), composed once. Not thread-safe.
  const std::string& listed(snapshot::StringId text) const;
  // Words of calls that were composed before. Not thread-safe.
  CallWords& known_words() const { return call_words_; }

  // Ranks that are expected or were found, sorted by rank, host and pid.
  const std::vector<RankView>& ranks() const { return ranks_; }
  const RankView& rank(std::size_t at) const { return ranks_[at]; }
  // Returns the indices for which `is` is true.
  template <typename Is>
  std::vector<std::size_t> ranks_that(const Is& is) const;
  static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
  std::size_t index_of(std::int32_t rank) const;     // kNone: neither expected nor found
  std::size_t index_of(const RankView& rank) const;  // `rank`: one of ranks()
  // Returns the index of the rank (or the process without a rank) whose own process this is; kNone
  // for a child.
  std::size_t index_of(const snapshot::ProcessCapture& process) const;
  // Returns the index of the rank whose number the process has; without a number, index_of().
  std::size_t index_of_rank(const snapshot::ProcessCapture& process) const;
  // Returns the index of the rank that is this process or has started it; kNone if no rank has.
  std::size_t index_of_owner(const snapshot::ProcessCapture& process) const;
  // Convert indices to rank numbers and back, in the same order; unknown numbers are left out.
  std::vector<std::int32_t> numbers_of(const std::vector<std::size_t>& ranks) const;
  std::vector<std::size_t> indices_of(const std::vector<std::int32_t>& numbers) const;
  // Returns the process's rank if it is another one than `rank`; else null.
  const RankView* other_owner(const snapshot::ProcessCapture& process, const RankView& rank) const;
  const snapshot::ProcessCapture* process(std::uint32_t node, pid_t pid) const;
  // Returns the process at the other end of the connection in `wait`, by its addresses; null if no
  // process of the job, or more than one, is known to have it.
  const snapshot::ProcessCapture* other_end(const snapshot::Wait& wait) const;
  const snapshot::ProcessCapture* other_end(snapshot::StringId local,
                                            snapshot::StringId peer) const;
  // Returns the process that the thread waits for, if its wait names one that was captured and is
  // not its own; else null. Null also in a call: then it waits for the members, not for the other
  // end of the socket that it happens to read.
  const snapshot::ProcessCapture* awaited_by(const snapshot::ProcessCapture& process,
                                             const snapshot::ThreadCapture& thread) const;
  // Returns the process's coroutine_threads().
  const std::vector<snapshot::ThreadCapture>& coroutines(
      const snapshot::ProcessCapture& process) const;
  // Return whether one or several processes of the job are known to have the other end.
  bool has_other_end(const snapshot::Wait& wait) const;
  bool has_other_end(const snapshot::Connection& connection) const;
  // Returns what the flight recorders of the capture show; null: it has no records.
  const FlightFacts* flight() const { return flight_ ? &*flight_ : nullptr; }
  // Returns whether the capture has nothing but flight recorders.
  bool only_recorded() const { return only_recorded_; }
  std::string host(std::uint32_t node) const;
  std::string host(const snapshot::ProcessCapture& process) const { return host(process.node); }

  // Returns whether ranks() has rank numbers; if not, they are processes given by pid.
  bool of_ranks() const { return ranks_.empty() || first_ranked_ < ranks_.size(); }
  // Returns "rank" or "process": what `ranks` are.
  std::string_view unit() const { return of_ranks() ? "rank" : "process"; }
  // Returns how many ranks there are. A process without a known rank may be one of the missing
  // ranks, so it is not counted in addition.
  std::size_t expected() const { return ranks_.size() - counted_twice_; }
  // Returns how many of ranks() are processes with another role, if there are ranks as well.
  std::size_t beside_ranks() const;
  std::size_t count(Presence presence) const;
  bool all_read() const {
    return count(only_recorded_ ? Presence::kRecorded : Presence::kRead) == ranks_.size();
  }
  std::size_t nodes_expected() const { return nodes_expected_; }
  std::size_t nodes_answered() const { return nodes_answered_; }
  std::uint64_t skew_us() const { return skew_us_; }
  // When the first rank was read, in microseconds since 1970 (UTC); 0 if unknown.
  std::uint64_t began_us() const { return began_us_; }
  const std::vector<std::string>& notes() const { return notes_; }

  // Returns "rank 4 (n0, pid 3121)", or titled() if the rank is unknown.
  static std::string name(const RankView& rank);
  // Returns "rank 4", or titled() without the host.
  static std::string short_name(const RankView& rank);
  // Returns "Rollout.sample (pid 7, n0)", or "pid 7 (n0)" without a label. `host`: may be "".
  static std::string titled(std::string_view label, pid_t pid, const std::string& host = {});

 private:
  void add_processes();
  // Returns the rank without its threads and children.
  RankView view_of(const snapshot::ProcessCapture& process) const;
  // Leaves out zombies, and notes them.
  void drop_helpers(std::vector<const snapshot::ProcessCapture*>& mains);
  void sort_processes();
  void take_poll(RankView& rank);
  void add_main_motion(RankView& rank);
  void take_records();
  void add_recorded();
  void make_coroutines();
  void take_servers();
  void take_socket_servers();
  void speak_for(RankView& rank, const snapshot::ThreadCapture& thread);
  void add_connections(const snapshot::ProcessCapture& process);
  void count_nodes();

  const snapshot::Capture& capture_;
  FrameModel& model_;
  const std::optional<FlightFacts> flight_;
  std::vector<RankView> ranks_;
  std::deque<ServingCoroutine> serving_;  // to which ranks_ points
  std::unordered_map<const snapshot::ProcessCapture*, std::vector<snapshot::ThreadCapture>>
      coroutines_;                            // if there are any
  std::size_t first_ranked_ = kNone;          // in ranks_: from here on each has a rank number
  std::vector<std::size_t> rank_of_process_;  // by its place in the capture; or kNone
  std::vector<const snapshot::ProcessCapture*> by_pid_;  // sorted by node and pid
  // By local and peer address; null if several processes have the same.
  std::map<std::pair<std::string_view, std::string_view>, const snapshot::ProcessCapture*> by_ends_;
  mutable snapshot::RankLists ranks_of_;
  mutable std::unordered_map<snapshot::StringId, std::string> listed_;
  mutable CallWords call_words_;
  std::vector<std::string> notes_;
  bool only_recorded_ = false;
  std::size_t counted_twice_ = 0;
  std::size_t nodes_expected_ = 0;
  std::size_t nodes_answered_ = 0;
  std::uint64_t skew_us_ = 0;
  std::uint64_t began_us_ = 0;
};

template <typename Is>
std::vector<std::size_t> JobView::ranks_that(const Is& is) const {
  std::vector<std::size_t> found;
  for (std::size_t at = 0; at < ranks_.size(); ++at) {
    if (is(at)) {
      found.push_back(at);
    }
  }
  return found;
}

}  // namespace oddrank::aggregate
