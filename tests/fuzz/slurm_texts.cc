// Reads any bytes as what SLURM's clients and ssh say, and as a list of hosts: no crash, no hang,
// no more hosts than promised, no complaint that fills a screen.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "base/hostlist.h"
#include "reach/silence.h"
#include "reach/ssh.h"
#include "slurm/can_collect.h"
#include "slurm/client.h"
#include "slurm/explain.h"
#include "slurm/job.h"
#include "slurm/job_text.h"
#include "slurm/launch.h"

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
  (void)slurm::client_error("srun", text);
  (void)slurm::without_prefix(text);
  (void)reach::host_of(text);
  reach::Silence silence;
  const std::string said(text);
  silence.exit = said.substr(0, 200);
  silence.complaint = reach::first_complaint(said);
  const std::size_t words[] = {slurm::first_complaint(text).size(),
                               reach::ssh_complaint(text).size(),
                               reach::why_silent(silence).size()};
  for (const std::size_t length : words) {
    if (length > 2000) {
      std::abort();
    }
  }
  return 0;
}
