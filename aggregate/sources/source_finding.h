// What the other sources (dumps of flight recorders, RAS, logs, devices) say of the job, each in a
// sentence beside the verdict; and where one of them disagrees with it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "aggregate/flight/analyze_flight.h"
#include "aggregate/verdict.h"
#include "aggregate/view/job_view.h"

namespace oddrank::aggregate {

struct SourceFinding {
  std::string source;               // "flight recorder", "RAS", "NCCL memory", "log", "device"
  std::string text;                 // one or two sentences
  std::vector<std::int32_t> ranks;  // whom it names; ascending, often nobody
  std::optional<bool> agrees;       // with the verdict; nullopt: one of the two names nobody
};

// `flight`: null if there are no dumps. In the order above; none where a source has nothing to say.
std::vector<SourceFinding> find_sources(const JobView& view,
                                        const FlightReport* flight,
                                        const Verdict& verdict);

// "flight recorder: ...; it disagrees with the verdict".
std::string source_words(const SourceFinding& finding);

}  // namespace oddrank::aggregate
