#include "collectives/group_evidence.h"

#include <vector>

#include "tests/support/catch.h"
#include "tests/unit/collectives/thread_builder.h"

namespace oddrank::collectives {
namespace {

std::optional<std::string> evidence_of(ThreadBuilder& builder) {
  const CallFrames frames(builder.thread(), builder.capture.tables, false);
  const PythonCall* call = find_python_call(frames.function(0), frames.file(0));
  REQUIRE(call != nullptr);
  return default_group_evidence(frames, 0, *call);
}

std::optional<std::string> wrapped(std::string_view function,
                                   ThreadBuilder::Locals locals,
                                   std::string_view args,
                                   std::string_view kwargs) {
  ThreadBuilder builder;
  builder.python(function, kC10dFile, 10, locals)
      .native("_PyEval_EvalFrameDefault")
      .python("wrapper", kLoggerFile, 83, {{"args", args}, {"kwargs", kwargs}})
      .python("train", "/job/train.py");
  return evidence_of(builder);
}

TEST_CASE("tuples are counted") {
  std::vector<std::string_view> values;
  CHECK(sequence_size("()", values) == 0U);
  CHECK(sequence_size("(<Tensor>,)", values) == 1U);
  CHECK(sequence_size("(<Tensor>, (1, 2), 'a, (b', None)", values) == 4U);
  REQUIRE(values.size() == 4);
  CHECK(values[1] == "(1, 2)");
  CHECK(values[3] == "None");
  CHECK(sequence_size("(1, 2, 3, 4, ... 6 items)", values) == 6U);
  CHECK(values.size() == 4);
  CHECK(sequence_size("('it\\'s, so',)", values) == 1U);
}

TEST_CASE("objects that are no tuples are not counted") {
  std::vector<std::string_view> values;
  CHECK(!sequence_size("", values));
  CHECK(!sequence_size("None", values));
  CHECK(!sequence_size("<unreadable>", values));
  CHECK(!sequence_size("((1, 2)", values));
  CHECK(!sequence_size("('a)", values));
  CHECK(!sequence_size("(1, ... x items)", values));
}

TEST_CASE("the function's own group is None") {
  ThreadBuilder builder;
  builder.python("barrier", kC10dFile, 10, {{"group", "None"}});
  CHECK(evidence_of(builder) == "group=None");
}

TEST_CASE("the function looks up the default group") {
  ThreadBuilder builder;
  builder.python("barrier", kC10dFile, 10, {{"default_pg", "<ProcessGroup>"}});
  CHECK(evidence_of(builder) == "which looks up the default group");
}

TEST_CASE("a group object may be any group") {
  ThreadBuilder builder;
  builder.python("all_reduce", kC10dFile, 10, {{"group", "<ProcessGroup>"}});
  CHECK(!evidence_of(builder));
}

TEST_CASE("the wrapper shows that no group was given") {
  CHECK(wrapped("all_reduce", {{"group", "<ProcessGroup>"}}, "(<Tensor>,)", "<dict of 0>") ==
        "called without a group");
  CHECK(wrapped("barrier", {}, "()", "<dict of 0>") == "called without a group");
  CHECK(wrapped("all_reduce", {}, "(<Tensor>, <ReduceOp>, None)", "<dict of 0>") == "group=None");
}

TEST_CASE("the wrapper shows that a group was given, or may have been") {
  CHECK(!wrapped("all_reduce", {}, "(<Tensor>, <ReduceOp>, <ProcessGroup>)", "<dict of 0>"));
  CHECK(!wrapped("barrier", {}, "(<ProcessGroup>,)", "<dict of 0>"));
  CHECK(!wrapped("all_reduce", {}, "(<Tensor>,)", "<dict of 1>"));
  CHECK(!wrapped("all_reduce", {}, "<unreadable>", "<dict of 0>"));
  CHECK(!wrapped("all_reduce", {}, "(<Tensor>,)", "<unreadable>"));
}

TEST_CASE("keyword arguments that follow from the function's own locals") {
  CHECK(wrapped("broadcast", {{"src", "0"}}, "(<Tensor>,)", "<dict of 1>") ==
        "called without a group");
  CHECK(wrapped("broadcast", {{"src", "0"}, {"async_op", "False"}}, "(<Tensor>, 0)",
                "<dict of 0>") == "called without a group");
  CHECK(wrapped("barrier", {{"device_ids", "[0]"}}, "()", "<dict of 1>") ==
        "called without a group");
  // src and one more, which may be the group.
  CHECK(!wrapped("broadcast", {{"src", "0"}}, "(<Tensor>,)", "<dict of 2>"));
  // src was given by position, so the keyword is another.
  CHECK(!wrapped("broadcast", {{"src", "0"}}, "(<Tensor>, 0)", "<dict of 1>"));
}

TEST_CASE("keyword arguments of which the contents were read") {
  CHECK(wrapped("broadcast", {{"src", "0"}}, "(<Tensor>, {'a': 1})", "{'src': 0}") == std::nullopt);
  CHECK(wrapped("broadcast", {{"src", "0"}}, "(<Tensor (1,) int64 cpu [3]>,)", "{'src': 0}") ==
        "called without a group");
  CHECK(wrapped("barrier", {}, "()", "{}") == "called without a group");
  CHECK(!wrapped("broadcast", {{"src", "0"}}, "(<Tensor>,)",
                 "{'src': 0, 'group': <ProcessGroup at 0x7f10>}"));
}

TEST_CASE("a foreign wrapper proves nothing") {
  ThreadBuilder builder;
  builder.python("all_reduce", kC10dFile, 10)
      .python("wrapper", "/job/retry.py", 3, {{"args", "(<Tensor>,)"}, {"kwargs", "<dict of 0>"}});
  CHECK(!evidence_of(builder));
}

}  // namespace
}  // namespace oddrank::collectives
