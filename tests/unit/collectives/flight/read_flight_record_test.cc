#include "collectives/flight/read_flight_record.h"

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

using snapshot::FlightState;
using snapshot::Tables;

constexpr std::string_view kDump = R"({"version":"2.10","pg_config":{
"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"}},"entries":[
{"record_id":7,"collective_seq_id":3,"pg_id":0,"process_group":["0","default_pg"],"retired":false,
 "profiling_name":"nccl:all_gather","input_sizes":[[4,2],[3]],"output_sizes":[[2,11]],"is_p2p":false,
 "input_dtypes":["Float","Float"],"output_dtypes":["BFloat16"],"state":"started","time_created_ns":5,
 "frames":[{"name":"all_gather","filename":"/v/torch/distributed/distributed_c10d.py","line":1},
           {"name":"wrapper","filename":"/v/site-packages/typing_extensions.py","line":3140},
           {"name":"inner","filename":"/usr/lib/python3.11/contextlib.py","line":81},
           {"name":"step","filename":"/job/train.py","line":88}],"a_new_key":{"x":[1]}},
{"record_id":8,"collective_seq_id":3,"p2p_seq_id":1,"process_group":["0","default_pg"],
 "profiling_name":"nccl:recv 1<-0","state":"completed","is_p2p":true}]})";

TEST_CASE("a dump's calls") {
  Tables texts;
  const auto record = read_flight_record("/tmp/nccl_trace_rank_12", kDump, texts);
  REQUIRE(record);
  CHECK(record->rank == 12);
  CHECK(texts.text(record->version) == "2.10");
  REQUIRE(record->groups.size() == 1);
  CHECK(texts.text(record->groups[0].members) == "0-1");
  REQUIRE(record->entries.size() == 2);
  const auto& call = record->entries[0];
  CHECK(texts.text(call.op) == "all_gather");
  CHECK(texts.text(call.backend) == "nccl");
  CHECK(texts.text(call.input_sizes) == "[4, 2], [3]");
  CHECK(call.input_count == 11);
  CHECK(call.output_count == 22);
  CHECK(texts.text(call.input_types) == "Float");
  CHECK(texts.text(call.output_types) == "BFloat16");
  CHECK(texts.text(call.place) == "step (train.py:88)");
  CHECK(call.state == FlightState::kStarted);
  CHECK(call.sequence == 3);
  CHECK(call.record == 7);
  const auto& receive = record->entries[1];
  CHECK(texts.text(receive.op) == "recv");
  CHECK(receive.is_p2p);
  CHECK(receive.peer == 0);
}

TEST_CASE("a text of PyTorch's debug server is no dump") {
  for (const char* text :
       {"=== Rank 0: http://n0:58557/handler/dump_traceback? ===\nCurrent thread "
        "0x00007f1c4a7fc6c0",
        "PARTIAL DATA: 0/2 workers responded\n  Rank 0: Handler torchcomms_health_check not found",
        "=== FR Trace ===\n--- Groups ---\n"}) {
    CHECK(is_debug_server_text(text));
  }
  CHECK_FALSE(is_debug_server_text(kDump));
  CHECK_FALSE(is_debug_server_text(""));
}

TEST_CASE("old dumps are a list, with other keys") {
  Tables texts;
  const auto record = read_flight_record(
      "trace_3",
      R"([{"seq_id":4,"pg_id":2,"profiling_name":"nccl:broadcast","time_created_us":9}])", texts);
  REQUIRE(record);
  REQUIRE(record->entries.size() == 1);
  CHECK(record->entries[0].sequence == 4);
  CHECK(record->entries[0].created_ns == 9000);
  CHECK(texts.text(record->groups[0].name) == "2");
}

TEST_CASE("a cut dump has the calls before the cut") {
  Tables texts;
  const auto record = read_flight_record("rank_0", kDump.substr(0, kDump.size() - 60), texts);
  REQUIRE(record);
  CHECK(record->cut);
  CHECK(record->entries.size() >= 1);
}

TEST_CASE("text that is no dump is refused") {
  Tables texts;
  CHECK(!read_flight_record("r_0", "", texts));
  CHECK(!read_flight_record("r_0", "hello", texts));
  CHECK(!read_flight_record("r_0", "{\"a\": 1}", texts));
  CHECK(!read_flight_record("r_0", "7", texts));
  CHECK(read_flight_record("r_0", "{\"version\": \"2.4\"}", texts));
}

TEST_CASE("hostile numbers do not overflow") {
  Tables texts;
  const auto record = read_flight_record(
      "r_0",
      R"([{"seq_id":1,"profiling_name":"x","input_sizes":[[4611686018427387904,4611686018427387904]],
          "time_created_us":9223372036854775807,"process_group":[1]}])",
      texts);
  REQUIRE(record);
  CHECK(record->entries[0].input_count == 0);
  CHECK(record->entries[0].created_ns == 0);
}

// Few bytes: each part is made once, and the next refers to it a hundred times.
TEST_CASE("a dump that refers to its own parts again and again is refused") {
  using namespace std::string_literals;  // NOLINT(google-build-using-namespace)
  const auto repeated = [](const std::string& part, int times) {
    std::string bytes;
    for (int i = 0; i < times; ++i) {
      bytes += part;
    }
    return bytes;
  };
  const auto text = [](const std::string& value) {
    return "X"s + static_cast<char>(value.size()) + "\0\0\0"s + value;
  };
  const std::string tensor = "]q\0("s + repeated("K\1"s, 100) + "e0"s;
  const std::string sizes = "]q\1("s + repeated("h\0"s, 100) + "e0"s;
  const std::string call = "}("s + text("seq_id") + "K\1"s + text("profiling_name") + text("x") +
                           text("input_sizes") + "h\1u"s;
  Tables texts;
  const auto few =
      read_flight_record("r_0", "\x80\x02"s + tensor + sizes + "]("s + call + "e."s, texts);
  REQUIRE(few);
  REQUIRE(few->entries.size() == 1);
  CHECK(few->entries[0].input_count == 100);
  const auto many = read_flight_record(
      "r_0", "\x80\x02"s + tensor + sizes + "]("s + repeated(call, 1000) + "e."s, texts);
  REQUIRE_FALSE(many);
  CHECK(many.error().what == "the dump refers to its own parts too often");
  // One call, a great many times.
  const auto same = read_flight_record("r_0",
                                       "\x80\x02"s + call.substr(0, call.size() - 3) + "Nuq\2"s +
                                           "0]("s + repeated("h\2"s, 100'000) + "e."s,
                                       texts);
  REQUIRE_FALSE(same);
}

TEST_CASE("calls share names and frames, or say the same in other places of the file") {
  const auto call = [](int sequence, std::string_view name, int line) {
    return fmt::format(
        R"({{"seq_id": {}, "profiling_name": "{}", "frames": [{{"name": "f", "filename": "a.py", "line": {}}}]}})",
        sequence, name, line);
  };
  Tables texts;
  const auto record = read_flight_record(
      "r_0",
      fmt::format("[{}, {}, {}, {}]", call(1, "nccl:abcd", 5), call(2, "nccl:abcd", 6),
                  call(3, "nccl:abce", 6), call(4, "gloo:abcd", 6)),
      texts);
  REQUIRE(record);
  REQUIRE(record->entries.size() == 4);
  std::vector<std::string> read;
  for (const snapshot::FlightEntry& entry : record->entries) {
    read.push_back(fmt::format("{} {} {}", texts.text(entry.backend), texts.text(entry.op),
                               texts.text(entry.place)));
  }
  CHECK(read == std::vector<std::string>{"nccl abcd f (a.py:5)", "nccl abcd f (a.py:6)",
                                         "nccl abce f (a.py:6)", "gloo abcd f (a.py:6)"});

  // One frame that a pickle refers to from two calls, behind and before one of torch's.
  const auto text = [](const std::string& value) {
    return "X"s + static_cast<char>(value.size()) + "\0\0\0"s + value;
  };
  const std::string own = "}("s + text("name") + text("f") + text("filename") + text("a.py") +
                          text("line") + "K\5uq\0"s;
  const std::string torch = "}("s + text("filename") + text("/torch/x.py") + "uq\1"s;
  const auto row = [&](const std::string& frames) {
    return "}("s + text("seq_id") + "K\1"s + text("profiling_name") + text("x") + text("frames") +
           "](" + frames + "eu";
  };
  const auto shared = read_flight_record(
      "r_0", "\x80\x02]("s + row(own + torch) + row("h\1h\0"s) + row("h\1"s) + "e.", texts);
  REQUIRE(shared);
  REQUIRE(shared->entries.size() == 3);
  CHECK(texts.text(shared->entries[0].place) == "f (a.py:5)");
  CHECK(texts.text(shared->entries[1].place) == "f (a.py:5)");
  CHECK(texts.text(shared->entries[2].place).empty());
}

TEST_CASE("the rank is in the file's name") {
  CHECK(rank_in_name("/a/b7/nccl_trace_rank_12") == 12);
  CHECK(rank_in_name("_dump_3.json") == 3);
  CHECK(rank_in_name("trace_rank_4.node17.pickle") == 4);
  CHECK(rank_in_name("comm_lib_trace_rank_0") == 0);
  CHECK(rank_in_name("rank-9") == 9);
  CHECK(rank_in_name("dump") == -1);
  CHECK(rank_in_name("trace_99999999999") == -1);
}

}  // namespace
}  // namespace oddrank::collectives
