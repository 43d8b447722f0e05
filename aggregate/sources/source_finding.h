// What the other sources (dumps of flight recorders, RAS, logs, devices) say about the job, each in
// a sentence beside the verdict, and which of them disagree with the verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/evidence/wait_graph.h"
#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct SourceFinding {
  std::string source;               // "flight recorder", "RAS", "NCCL memory", "log", "device"
  std::string text;                 // one or two sentences
  std::vector<std::int32_t> ranks;  // the ranks it names, ascending; often none
  // Whether it agrees with the verdict; nullopt: one of the two names no rank, or the source's
  // ranks wait, outside of calls, for the verdict's.
  std::optional<bool> agrees;
};

// Returns what each source says, in the order above; nothing for one that has nothing to say.
std::vector<SourceFinding> find_sources(const JobView& view,
                                        const WaitGraph& graph,
                                        const Verdict& verdict);

// Returns "flight recorder: ...; it disagrees with the verdict".
std::string source_words(const SourceFinding& finding);

}  // namespace oddrank::aggregate
