#include "node/collect/check_recorder.h"

#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

using snapshot::Answer;

TEST_CASE(
    "check_recorder: advice to set a variable is given only if memory cannot tell without it") {
  const auto gloo = [](int version) { return recorder_outlook({version, false, "", ""}); };
  CHECK(gloo(213).answer == Answer::kYes);
  CHECK(gloo(213).detail == "torch 2.13 keeps 2000 calls, none so far");
  CHECK(gloo(211).remedy.empty());
  CHECK(gloo(210).answer == Answer::kOff);
  CHECK(gloo(210).remedy.find("TORCH_FR_BUFFER_SIZE=2000") != std::string::npos);
  CHECK(gloo(206).answer == Answer::kOff);
  CHECK(gloo(206).detail == "gloo of torch 2.6 has none");
  CHECK(gloo(206).remedy.empty());
  CHECK(gloo(0).remedy.empty());
}

TEST_CASE("check_recorder: the variable has an older name for NCCL before 2.8") {
  const auto old = recorder_outlook({206, true, "", ""});
  CHECK(old.answer == Answer::kOff);
  CHECK(old.remedy.find("TORCH_NCCL_TRACE_BUFFER_SIZE=2000") != std::string::npos);
  const auto set = recorder_outlook({206, true, "TORCH_NCCL_TRACE_BUFFER_SIZE", "500"});
  CHECK(set.answer == Answer::kYes);
  CHECK(set.detail == "torch 2.6 keeps 500 calls, none so far");
}

TEST_CASE("check_recorder: a recorder that is switched off is told, whatever the release") {
  const auto off = recorder_outlook({213, true, "TORCH_FR_BUFFER_SIZE", "0"});
  CHECK(off.answer == Answer::kOff);
  CHECK(off.detail == "TORCH_FR_BUFFER_SIZE=0");
  CHECK_FALSE(off.remedy.empty());
}

}  // namespace
}  // namespace oddrank::node
