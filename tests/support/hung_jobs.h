// Jobs that hang in known ways, as made-up captures: eight ranks on four nodes, training in
// train.py. One function a story; a test changes the details itself.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/capture_builder.h"

namespace oddrank::tests {

// Rank r is pid 3000+r on node n(r/2).
pid_t pid_of(std::int32_t rank);
std::string_view host_of(std::int32_t rank);

// Returns a job on hosts n0, n1, ... with `per_host` ranks each, all in one all_reduce.
CaptureBuilder ranks_in_all_reduce(int hosts, int per_host);

// Threads of ranks.
ThreadSpec in_all_reduce();          // default group, still
ThreadSpec in_loader(pid_t worker);  // waits for its DataLoader worker
ThreadSpec sleeping();               // in code of its own
ThreadSpec computing();              // R, uses the CPU
ThreadSpec training_on();            // another line in each sample
ThreadSpec in_store();               // init_process_group
// In code of its own, and waits for something of which the kernel shows no other end.
ThreadSpec waiting_on(snapshot::WaitOn on, std::string path = {});
ThreadSpec at_python_lock();  // of its own process: threading.Event, queue.Queue
ThreadSpec asking_rank(
    std::int32_t server);  // at a connection of which that rank has the other end

// Returns eight ranks, each with this thread; and one thread of gloo's.
CaptureBuilder eight_ranks(const ThreadSpec& spec);
// Replaces the main thread of a rank.
void replace(CaptureBuilder& job, std::int32_t rank, const ThreadSpec& spec);

// Sets plain locals of the outermost Python frame of every rank: name and value.
void add_locals(
    CaptureBuilder& job,
    const std::function<std::vector<std::pair<std::string, std::string>>(std::int32_t)>& of_rank);

CaptureBuilder input_stall_job();         // rank 5, worker pid 3380 in read() of a shard
CaptureBuilder skipped_collective_job();  // rank 3 sleeps
CaptureBuilder missing_rank_job();        // rank 7 is gone
CaptureBuilder stopped_rank_job();        // rank 2, inside the collective
CaptureBuilder unread_node_job();         // n2 (ranks 4, 5) did not answer
CaptureBuilder below_host_job();
CaptureBuilder loop_skew_job();    // the same, but rank 5 is one step behind in its loop
CaptureBuilder late_loader_job();  // input_stall_job, with the step that each rank is in
CaptureBuilder healthy_job();
CaptureBuilder unknown_job();            // groups are not known
CaptureBuilder io_stall_job();           // rank 6 in state D
CaptureBuilder busy_rank_job();          // rank 1 compiles
CaptureBuilder rendezvous_job();         // rank 7 never came
CaptureBuilder child_deadlock_job();     // rank 5, worker dead
CaptureBuilder lock_deadlock_job();      // rank 5, two threads
CaptureBuilder gil_deadlock_job();       // rank 3: the GIL against a mutex
CaptureBuilder three_dimensional_job();  // pipeline of tensor groups; rank 2 in its loader

struct HungJob {
  std::string_view name;
  CaptureBuilder (*build)();
};

std::vector<HungJob> hung_jobs();

}  // namespace oddrank::tests
