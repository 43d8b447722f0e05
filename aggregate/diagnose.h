// From a capture to a report: the whole of aggregate/ in one call. Pure, and independent of the
// order of nodes and processes in the capture.
//
// Every report is made from a JobView, and can be made from a capture as well: who wants several of
// them makes the view once.
#pragma once

#include "aggregate/diagnosis.h"
#include "aggregate/view/job_view.h"
#include "snapshot/capture.h"

namespace oddrank::aggregate {

Diagnosis diagnose(const JobView& view);
Diagnosis diagnose(const snapshot::Capture& capture);

}  // namespace oddrank::aggregate
