// From a capture to a report: the whole of aggregate/ in one call. Pure, and independent of the
// order of nodes and processes in the capture.
//
// Every report can be made from a capture or from a JobView. A caller that wants several reports
// makes the view once.
#pragma once

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"
#include "snapshot/capture.h"

namespace oddrank::aggregate {

// Returns the verdict alone, as for a view of dumps of flight recorders.
Verdict verdict_of(const JobView& view);
// Return the whole report.
Diagnosis diagnose(const JobView& view);
Diagnosis diagnose(const snapshot::Capture& capture);

}  // namespace oddrank::aggregate
