// A capture as reports take it, for the length of one call: report_dot(report,
// tests::Viewed(Viewed(capture))).
#pragma once

#include "aggregate/view/job_view.h"
#include "tests/support/viewed.h"

namespace oddrank::tests {

class Viewed {
 public:
  explicit Viewed(const snapshot::Capture& capture)
      : model_(capture.tables), view_(capture, model_) {}

  // NOLINTNEXTLINE(google-explicit-constructor): it stands for the view
  operator const aggregate::JobView&() const { return view_; }

 private:
  aggregate::FrameModel model_;
  aggregate::JobView view_;
};

}  // namespace oddrank::tests
