// Files that the watch writes: the past of a rank, and the newest few captures of a folder.
#include <dirent.h>
#include <stdlib.h>

#include <filesystem>
#include <set>
#include <string>

#include "base/write_file.h"
#include "tests/support/catch.h"
#include "watch/rank_motion.h"
#include "watch/rolling_files.h"

namespace oddrank::watch {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

RankSign seen(const std::string& where) {
  RankSign sign;
  sign.frames_read = true;
  sign.where = where;
  return sign;
}

TEST_CASE("the past of a rank has its last motion, its place, and earlier places") {
  // Times of day are in the zone of the machine, so only the spans are compared.
  const LastPlaces::WallTime start{seconds(1'800'000'000)};
  LastPlaces past(start);
  past.add(seen("load (data.py:3)"), true, start + seconds(10));
  past.add(seen("step (train.py:9)"), true, start + seconds(20));
  past.add(seen("poll (io.py:7)"), true, start + seconds(30));
  past.add(seen("poll (io.py:7)"), false, start + seconds(40));
  const std::string words = past.words(start + seconds(335));
  CHECK(words.find("last moved at ") == 0);
  CHECK(words.find("(5 min before this capture), last seen in poll (io.py:7); before: "
                   "step (train.py:9) ") != std::string::npos);
  CHECK(words.find(", load (data.py:3) ") != std::string::npos);
  CHECK(words.size() <= 360);
}

TEST_CASE("a past tells the kernel's time if that is earlier than a sample's") {
  const LastPlaces::WallTime start{seconds(1'800'000'000)};
  const auto unrun = [](int s) {
    RankSign sign = seen("all_reduce (train.py:9)");
    sign.unrun_ms = 1000 * s;
    return sign;
  };
  const auto says = [start](const LastPlaces& past, const char* words) {
    return past.words(start + seconds(50)).find(words) != std::string::npos;
  };
  LastPlaces hung_before(start);  // the watch came later
  hung_before.add(unrun(44), false, start + seconds(1));
  CHECK(says(hung_before, "last moved at "));
  CHECK(says(hung_before, "(93 s before this capture)"));
  CHECK(hung_before.still_for(start + seconds(50)) == seconds(93));
  hung_before.add(unrun(0), false, start + seconds(20));  // a debugger looked at it
  CHECK(says(hung_before, "(93 s before this capture)"));

  LastPlaces polls(start);
  polls.add(unrun(0), false, start + seconds(1));
  CHECK(says(polls, "has not moved since the watch began at "));
  CHECK(says(polls, "(50 s before this capture)"));
  CHECK(polls.still_for(start + seconds(50)) == seconds(0));

  LastPlaces between(start);  // two samples
  between.add(unrun(0), false, start + seconds(1));
  between.add(unrun(8), true, start + seconds(11));
  CHECK(says(between, "last moved at "));
  CHECK(says(between, "(47 s before this capture)"));
}

TEST_CASE("the words of a past stay short, whatever the names are") {
  const LastPlaces::WallTime start{seconds(1'800'000'000)};
  LastPlaces past(start);
  for (int i = 0; i < 1000; ++i) {
    past.add(seen(std::string(300, 'x') + std::to_string(i)), true, start);
  }
  CHECK(past.words(start).size() <= 360);
}

TEST_CASE("a past travels as a file") {
  const PastFile past{5, 4711, "last moved at 14:03:12"};
  const auto back = decode_past(encode_past(past));
  REQUIRE(back);
  CHECK(back->rank == 5);
  CHECK(back->pid == 4711);
  CHECK(back->words == past.words);
  CHECK_FALSE(decode_past(""));
  CHECK_FALSE(decode_past("oddrank past 1\nx\n1\nwords\n"));
  CHECK_FALSE(decode_past("oddrank past 1\n1\n1\n"));
  CHECK(past_path("/a", "4711", 5) == "/a/.past-4711-rank5");
}

TEST_CASE("the newest few captures of one job are kept, and no other file is touched") {
  std::string folder = "/tmp/oddrank-rolling-XXXXXX";
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  const auto put = [&folder](const std::string& name) {
    REQUIRE(write_file(folder + "/" + name, "x"));
  };
  const std::chrono::system_clock::time_point start{seconds(1'800'000'000)};
  std::vector<std::string> stems;
  for (int i = 0; i < 5; ++i) {
    stems.push_back(stall_stem("47", start + milliseconds(400 * i)));
    put(stems.back() + ".odd");
    put(stems.back() + ".json");
  }
  CHECK(stems[0] == "stall-47-20270115-080000.000");
  const std::set<std::string> others = {"stall-47-mine.odd", "stall-471-20270115-080000.000.odd",
                                        "stall-47-.odd", "notes.txt", ".past-47-rank1"};
  for (const std::string& name : others) {
    put(name);
  }
  REQUIRE(keep_newest(folder, "47", 2));
  std::set<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    left.insert(entry.path().filename().string());
  }
  std::set<std::string> expected = others;
  for (const std::size_t i : {3U, 4U}) {
    expected.insert(stems[i] + ".odd");
    expected.insert(stems[i] + ".json");
  }
  CHECK(left == expected);
  std::filesystem::remove_all(folder);
  CHECK_FALSE(keep_newest(folder, "47", 2));
}

TEST_CASE("the name of a job is one word in file names") {
  CHECK(file_word("4711") == "4711");
  CHECK(file_word("../n0 x") == ".._n0_x");
}

}  // namespace
}  // namespace oddrank::watch
