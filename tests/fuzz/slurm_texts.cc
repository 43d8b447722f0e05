// Reads any bytes as the output of SLURM's clients, and as a list of hosts: no crash, no hang, no
// more hosts than promised.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/hostlist.h"
#include "slurm/can_collect.h"
#include "slurm/job.h"
#include "slurm/job_text.h"
#include "slurm/launch.h"
#include "slurm/node_state.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace oddrank;  // NOLINT(google-build-using-namespace)
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)slurm::parse_job(text);
  (void)slurm::parse_steps(text);
  (void)slurm::parse_job_id(text.substr(0, 100));
  (void)slurm::parse_duration(text.substr(0, 100));
  (void)slurm::parse_srun_words(text);
  (void)slurm::parse_node_states(text);
  (void)expand_hosts(text.substr(0, 1000));
  return 0;
}
