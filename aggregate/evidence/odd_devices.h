// What is odd about GPUs and network adapters: by itself, or because they differ from all others of
// the job: a GPU by its errors, load, power, clock or what slows it down, a port by its state or
// errors. A difference alone shows nothing; it supports other evidence that the data stand there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

// Return what is odd, "" if nothing is, or there are no others to compare with.
// "GPU 2 is 0 % busy (the others 98 to 100 %)", of the GPU on which the rank has a context.
std::string odd_gpu(const JobView& view, std::size_t rank);
// "mlx5_2 is DOWN (Polling)", "mlx5_2 counts 412 errors, and no other port does".
std::string odd_port(const JobView& view, std::uint32_t node, std::string_view device);

// Returns the only one of these ranks whose GPU has failed since the job began, as NVIDIA's driver
// says (Xid); kNone if no GPU has failed, or several have.
std::size_t rank_of_failed_gpu(const JobView& view, const std::vector<std::size_t>& ranks);

// Returns "; of all GPUs only that of rank 3 (n1, pid 77) has failed: GPU 3 had an error ..."; ""
// if none has failed, or several have.
std::string failed_gpu_words(const JobView& view);

// Returns "mlx5_2 has counted 3 errors within this capture, and no other port has any"; "" if it
// has none, or if the other ports have some, are down, or are fewer than two.
std::string new_errors(const JobView& view, const snapshot::LinkPort& port);

// Returns whether the GPU is busy all the time, moves hardly any memory, and draws less than two
// fifths of its power limit. A collective's kernel that waits for its peers spins like this; real
// work does not.
bool spins(const snapshot::Device& device);

// Returns whether the rank's deciding thread is in a library of AMD's.
bool waits_for_amds_gpu(const JobView& view, const RankView& rank);

// Returns one sentence for each kind of oddity: GPUs that spin, memory errors, GPUs that are slowed
// down, ports that are down while others are up; and for each GPU with other errors. Empty if
// nothing is odd.
std::vector<std::string> device_sentences(const JobView& view);

}  // namespace oddrank::aggregate
