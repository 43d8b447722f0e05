#include "snapshot/rewrite.h"

#include <utility>

#include "base/secrets/mask_secrets.h"
#include "snapshot/carrier.h"
#include "snapshot/identities.h"

namespace oddrank::snapshot {
namespace {

Capture rewritten(CaptureRows rows, const Tables& tables, TextRewrites rewrites) {
  Capture result;
  Carrier carrier(tables, result.tables, std::move(rewrites));
  static_cast<CaptureRows&>(result) = carrier.row(std::move(rows));
  return result;
}

// Drops the values that a program works on.
void drop_locals(ProcessCapture& process) {
  for (ThreadCapture& thread : process.threads) {
    thread.locals.clear();
    for (PythonLoop& loop : thread.loops) {
      for (LoopCall& call : loop.calls) {
        call.object = StringId{};
      }
    }
  }
}

}  // namespace

Capture without_secrets(Capture capture) {
  const Tables tables = std::move(capture.tables);
  return rewritten(static_cast<CaptureRows&&>(capture), tables, {mask_text, {}});
}

Capture redacted(const Capture& capture, const Capture* beside) {
  Identities identities;
  identities.add_all_of(capture);
  if (beside != nullptr) {
    identities.add_all_of(*beside);
  }
  const auto anonymous = [&identities](std::string_view text) { return identities.without(text); };
  auto rows = static_cast<const CaptureRows&>(capture);
  rows.job.name.clear();
  rows.job.user.clear();
  for (ProcessCapture& process : rows.processes) {
    drop_locals(process);
  }
  return rewritten(std::move(rows), capture.tables, {anonymous, anonymous});
}

}  // namespace oddrank::snapshot
