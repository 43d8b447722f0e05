// From a capture to a report: the whole of aggregate/ in one call. Pure, and independent of the
// order of nodes and processes in the capture.
#pragma once

#include "aggregate/report.h"
#include "snapshot/capture.h"

namespace oddrank::aggregate {

Report diagnose(const snapshot::Capture& capture);

}  // namespace oddrank::aggregate
