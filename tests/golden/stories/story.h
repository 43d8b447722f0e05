// The table of hangs: each kind of verdict with stories of jobs that must get it, and with near
// misses that look alike and must not. The reports are checked in, one text per story; properties
// that hold for all jobs are tested on all of them.
//
// Stories are modelled on real hangs; `after` names a source that describes one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/verdict.h"
#include "tests/support/capture_builder.h"

namespace oddrank::tests {

struct Story {
  std::string_view name;
  std::string_view after;
  aggregate::Kind kind = aggregate::Kind::kUnknown;  // that it must get
  std::vector<std::int32_t> culprits = {};           // ascending; all of them, and no other
  CaptureBuilder (*build)() = nullptr;
  // A near miss: the kind that it must not get. If equal to `kind`, the story is no near miss.
  aggregate::Kind not_kind = kind;

  bool is_near_miss() const { return not_kind != kind; }
  // "input_stall/stopped_worker", "input_stall/not_all_at_once".
  std::string path() const;
};

// Stories by families of kinds, each in a file of its own.
std::vector<Story> stories_of_progress();      // healthy, slow, busy_rank
std::vector<Story> stories_of_lost_ranks();    // missing_rank, stopped_rank
std::vector<Story> stories_of_failed_ranks();  // failed_rank, early_exit, rendezvous
std::vector<Story> stories_of_crashes();       // crashed_rank
std::vector<Story> stories_of_collectives();   // skipped and mismatched
std::vector<Story> stories_of_order();         // collective_order, p2p_order
std::vector<Story> stories_of_circles();       // resource_cycle
std::vector<Story> stories_of_servers();       // stuck_rank
std::vector<Story> stories_of_engines();       // the same kinds in MPI and in pipelines
std::vector<Story> stories_of_links();         // link_stall
std::vector<Story> stories_of_nobody();        // below_host, unknown
std::vector<Story> stories_of_children();      // input_stall, child_deadlock
std::vector<Story> stories_of_files();         // io_stall, file_lock
std::vector<Story> stories_of_ends();          // where a wait of a worker or thread ends
std::vector<Story> stories_of_locks();         // lock_deadlock, gil_deadlock
std::vector<Story> stories_of_outside();       // external_wait, device_stall

std::vector<Story> all_stories();

}  // namespace oddrank::tests
