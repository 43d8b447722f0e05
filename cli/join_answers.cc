#include "cli/join_answers.h"

#include <utility>

#include "base/log.h"
#include "snapshot/decode_many.h"
#include "snapshot/merge.h"

namespace oddrank::cli {

snapshot::Capture join_answers(snapshot::JobInfo job, const slurm::GatherResult& gathered) {
  snapshot::Capture whole;
  whole.job = std::move(job);
  snapshot::Merger merger(whole);
  const auto& nodes = gathered.nodes;
  snapshot::decode_many(
      nodes.size(),
      [&nodes](std::size_t i) -> Result<std::string> {
        if (!nodes[i].answered) {
          return fail(Errc::kNotFound, nodes[i].why);
        }
        return nodes[i].payload;
      },
      [&](std::size_t i, const Result<snapshot::Capture>& capture) {
        if (capture) {
          merger.add(*capture);
          return;
        }
        if (nodes[i].answered) {
          log_line(LogLevel::kWarning, nodes[i].host + ": " + capture.error().what);
        }
        snapshot::Capture part;
        part.nodes = {{nodes[i].host, false, capture.error().what, 0, {}, {}}};
        merger.add(part);
      });
  if (!whole.nodes.empty()) {
    auto& notes = whole.nodes.front().notes;
    notes.insert(notes.end(), gathered.notes.begin(), gathered.notes.end());
  }
  return whole;
}

}  // namespace oddrank::cli
