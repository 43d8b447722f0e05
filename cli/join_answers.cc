#include "cli/join_answers.h"

#include <utility>

#include "base/log.h"
#include "snapshot/capture_file.h"
#include "snapshot/merge.h"

namespace oddrank::cli {
namespace {

snapshot::NodeCapture silent_node(const slurm::NodeAnswer& answer) {
  snapshot::NodeCapture node;
  node.host = answer.host;
  node.why = answer.why;
  return node;
}

}  // namespace

snapshot::Capture join_answers(snapshot::JobInfo job, const slurm::GatherResult& gathered) {
  snapshot::Capture whole;
  whole.job = std::move(job);
  snapshot::Merger merger(whole);
  for (const slurm::NodeAnswer& answer : gathered.nodes) {
    snapshot::Capture part;
    if (answer.answered) {
      auto capture = snapshot::decode_capture(answer.payload);
      if (capture) {
        merger.add(*capture);
        continue;
      }
      log_line(LogLevel::kWarning, answer.host + ": " + capture.error().what);
      part.nodes = {{answer.host, false, capture.error().what, 0, {}, {}}};
    } else {
      part.nodes = {silent_node(answer)};
    }
    merger.add(part);
  }
  if (!whole.nodes.empty()) {
    auto& notes = whole.nodes.front().notes;
    notes.insert(notes.end(), gathered.notes.begin(), gathered.notes.end());
  }
  return whole;
}

}  // namespace oddrank::cli
