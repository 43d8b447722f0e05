#include "collectives/nccl/ras_answer.h"

#include <fstream>
#include <sstream>

#include "tests/support/catch.h"

namespace oddrank::collectives {
namespace {

using snapshot::RasPresence;

constexpr std::size_t kAllReduce = 4;

std::string recorded(const std::string& name) {
  std::ifstream file(std::string(ODDRANK_ANSWERS) + "/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

const RasMember* member_of(const RasAnswer& answer, std::int32_t rank) {
  for (const RasMember& member : answer.groups.at(0).members) {
    if (member.rank == rank) {
      return &member;
    }
  }
  return nullptr;
}

TEST_CASE("RAS as JSON: a real answer of 2.28.9") {
  const auto answer = read_ras_json(recorded("ras-2.28.9-behind.json"));
  REQUIRE(answer);
  CHECK(answer->version == "2.28.9");
  REQUIRE(answer->groups.size() == 1);
  const RasGroup& group = answer->groups[0];
  CHECK(group.hash == "0x1122334455667788 0x1122334455667821:0x112233445566cc88");
  CHECK(group.size == 4);
  REQUIRE(group.members.size() == 4);
  for (const RasMember& member : group.members) {
    CHECK(member.counts[kAllReduce] == (member.rank == 2 ? 41 : 42));
    CHECK(member.counts[0] == 0);
    CHECK(member.host == "127.0.0.1");
    CHECK(member.pid > 0);
    CHECK(member.device == member.rank);
    CHECK(member.presence == RasPresence::kAnswered);
  }
}

TEST_CASE("RAS as JSON: the comma that 2.28.9 forgets") {
  const auto answer = read_ras_json(recorded("ras-2.28.9-stopped.json"));
  REQUIRE(answer);
  CHECK(answer->timeouts == 2);
  REQUIRE(member_of(*answer, 1) != nullptr);
  CHECK(member_of(*answer, 1)->presence == RasPresence::kMissing);
  CHECK(member_of(*answer, 1)->pid > 0);
  CHECK(member_of(*answer, 1)->counts == snapshot::kNoRasCounts);
  CHECK(member_of(*answer, 2)->counts[kAllReduce] == 41);
}

TEST_CASE("RAS as JSON: valid text is not changed, missing commas are put in") {
  const std::string valid = recorded("ras-2.28.9-behind.json");
  CHECK(repair_json(valid) == valid);
  const std::string strings = R"({"a\"": "b : \\", "c": ["d", {"e": null}]})";
  CHECK(repair_json(strings) == strings);
  CHECK(repair_json(R"({"a": 1 "b": true "c": "x" "d": {} "e": []})") ==
        R"({"a": 1 ,"b": true ,"c": "x" ,"d": {} ,"e": []})");
  CHECK(repair_json("\"a\\") == "\"a\\");
}

TEST_CASE("RAS as text: the listed ranks, and how far the others are") {
  for (const char* name : {"ras-2.27.7-behind.txt", "ras-2.28.9-behind.txt"}) {
    const auto answer = read_ras_text(recorded(name));
    REQUIRE(answer);
    CHECK(answer->version == std::string(name).substr(4, 6));
    REQUIRE(answer->groups.size() == 1);
    CHECK(answer->groups[0].hash == "0x1122334455667788");
    CHECK(answer->groups[0].size == 4);
    REQUIRE(member_of(*answer, 2) != nullptr);
    CHECK(member_of(*answer, 2)->counts[kAllReduce] == 41);
    CHECK(member_of(*answer, 2)->host == "127.0.0.1");
    CHECK(member_of(*answer, 2)->device == 2);
    CHECK(member_of(*answer, 2)->pid > 0);
    REQUIRE(member_of(*answer, -1) != nullptr);
    CHECK(member_of(*answer, -1)->counts[kAllReduce] == 42);
  }
}

TEST_CASE("RAS as text: a member that does not answer, and a process that is lost") {
  const auto answer = read_ras_text(recorded("ras-2.28.9-stopped.txt"));
  REQUIRE(answer);
  REQUIRE(member_of(*answer, 1) != nullptr);
  CHECK(member_of(*answer, 1)->presence == RasPresence::kMissing);
  CHECK(member_of(*answer, 1)->pid > 0);
  CHECK(member_of(*answer, 2)->counts[kAllReduce] == 41);
  REQUIRE(answer->lost.size() == 1);
  CHECK(answer->lost[0].presence == RasPresence::kMissing);
  CHECK(answer->lost[0].pid == member_of(*answer, 1)->pid);
}

TEST_CASE("RAS: text that is no answer is refused, a cut answer returns what it holds") {
  CHECK_FALSE(read_ras_json(""));
  CHECK_FALSE(read_ras_json("[]"));
  CHECK_FALSE(read_ras_json("{\"nccl_version\": \"2.28.9\"}"));
  CHECK_FALSE(read_ras_text("HTTP/1.1 400 Bad Request\r\n\r\n"));
  const std::string whole = recorded("ras-2.28.9-stopped.json");
  const std::string text = recorded("ras-2.28.9-stopped.txt");
  for (std::size_t size = 0; size < whole.size(); size += 7) {
    const auto cut = read_ras_json(whole.substr(0, size));
    CHECK((!cut || cut->groups.size() <= 1));
    (void)read_ras_text(text.substr(0, std::min(size, text.size())));
  }
}

TEST_CASE("RAS: nonsense does not grow beyond its size") {
  std::string text = "NCCL version 2.28.9 compiled\n#0-0 (1) INCOMPLETE\n";
  std::string json = R"({"nccl_version":"2.28.9","communicators":[{"ranks":[)";
  for (int i = 0; i < 10'000; ++i) {
    text += "Rank " + std::to_string(i) + " -- \n";
    json += R"({"rank":1},)";
  }
  const auto from_text = read_ras_text(text);
  REQUIRE(from_text);
  REQUIRE(from_text->groups.size() == 1);
  CHECK(from_text->groups[0].members.size() <= text.size() / 32 + 16);
  const auto from_json = read_ras_json(json);
  REQUIRE(from_json);
  CHECK(from_json->groups.at(0).members.size() <= json.size() / 32 + 16);
  CHECK(repair_json(std::string(10'000, '"')).size() <= 10'000 + 10'000 / 32 + 16);
}

TEST_CASE("RAS: lines of several communicators may alternate") {
  std::string text = "NCCL version 2.28.9 compiled\n";
  for (int i = 0; i < 100; ++i) {
    text += "#0-0 (" + std::to_string(i % 2) + ") ERROR\nRank " + std::to_string(i / 20) +
            " reported internal error -- GPU 2 managed by process 31 on node 10.0.0.1\n";
  }
  const auto answer = read_ras_text(text);
  REQUIRE(answer);
  REQUIRE(answer->groups.size() == 2);
  CHECK(answer->groups[0].members.size() == 5);
  CHECK(answer->groups[1].members.size() == 5);
}

}  // namespace
}  // namespace oddrank::collectives
