#include "snapshot/format/capture_file.h"

#include <random>
#include <string>
#include <string_view>

#include "snapshot/format/columns.h"
#include "snapshot/format/convert_rows.h"
#include "tests/support/catch.h"
#include "tests/unit/snapshot/format/sample_capture.h"

namespace oddrank::snapshot {
namespace {

using test::sample_capture;

TEST_CASE("capture: the proxies of eight ranks with 64 channels cost a node 24 KiB") {
  std::mt19937 random(46);
  Capture capture;
  capture.nodes.emplace_back();
  for (std::int32_t rank = 0; rank < 8; ++rank) {
    ProcessCapture& process = capture.processes.emplace_back();
    process.rank = rank;
    process.pid = 3000 + rank;
    for (std::int32_t at = 0; at < 128; ++at) {  // no two channels have the same numbers
      snapshot::ProxyTransfer row;
      row.group = capture.tables.string("0x4f3a2b1c5d6e7f80");
      row.network = capture.tables.string("IB");
      row.device = capture.tables.string("mlx5_" + std::to_string(rank));
      row.rank = rank;
      row.size = 1024;
      row.sends = at % 2 == 0;
      row.peer = (rank + (row.sends ? 8 : 1016)) % 1024;
      row.channels = row.still = std::uint64_t{1} << static_cast<unsigned>(at / 2);
      row.end = 80'000 + static_cast<std::int64_t>(random() % 512);
      row.posted = row.end - static_cast<std::int64_t>(random() % 64);
      row.passed = row.posted - static_cast<std::int64_t>(random() % 8);
      row.done = row.passed - static_cast<std::int64_t>(random() % 8);
      process.proxies.push_back(row);
    }
  }
  CHECK(encode_capture(capture).size() <= std::size_t{24} * 1024);
}

TEST_CASE("a capture comes back from its file as it was") {
  const Capture capture = sample_capture();
  const auto decoded = decode_capture(encode_capture(capture));
  REQUIRE(decoded);
  CHECK(decoded->job == capture.job);
  CHECK(decoded->nodes == capture.nodes);
  CHECK(decoded->processes == capture.processes);  // ids included: tables keep their order
  CHECK(decoded->collectives == capture.collectives);
  REQUIRE(decoded->tables.frames().size() == capture.tables.frames().size());
  CHECK(decoded->tables.frame(FrameId{0}) == capture.tables.frame(FrameId{0}));
  CHECK(decoded->tables.stack(StackId{1}) == capture.tables.stack(StackId{1}));
  const StringId function = decoded->tables.frame(FrameId{1}).function;
  CHECK(decoded->tables.text(function) == "Läufer.step");
}

TEST_CASE("a stored capture comes back as a packed one, whatever its size is") {
  constexpr std::size_t kBlock = std::size_t{128} << 10;
  Capture capture = sample_capture();
  const std::size_t unpacked = encode_document(to_document(capture)).size();
  for (const std::size_t size : {std::size_t{1}, kBlock - unpacked - 8, kBlock - unpacked,
                                 kBlock - unpacked + 8, 3 * kBlock}) {
    capture.nodes.front().why = std::string(size, 'x');
    const std::string stored = encode_capture(capture, Packing::kStored);
    CHECK(stored.size() > size);
    const auto decoded = decode_capture(stored);
    REQUIRE(decoded);
    CHECK(decoded->nodes == capture.nodes);
    CHECK(decoded->processes == capture.processes);
    CHECK_FALSE(decode_capture(std::string_view(stored).substr(0, stored.size() - 1)));
  }
}

TEST_CASE("an empty capture comes back empty") {
  const auto decoded = decode_capture(encode_capture(Capture{}));
  REQUIRE(decoded);
  CHECK(decode_capture(encode_capture(Capture{}, Packing::kStored)));
  CHECK(decoded->processes.empty());
  CHECK(decoded->nodes.empty());
  CHECK(decoded->job.world_size == -1);
}

// The decoder passes over columns in which no thread has anything.
TEST_CASE("rare facts of waits come back, whichever threads have them") {
  for (const std::string_view has : {"...", "..x", "x..", ".x.", "xxx"}) {
    Capture capture;
    capture.nodes.emplace_back();
    ProcessCapture& process = capture.processes.emplace_back();
    for (const char one : has) {
      ThreadCapture& thread = process.threads.emplace_back();
      thread.samples.emplace_back();
      if (one == 'x') {
        thread.wait.rare.edit().peer = capture.tables.string("10.0.0.2:9");
        thread.wait.rare.edit().key = capture.tables.string("go");
      }
    }
    const auto decoded = decode_capture(encode_capture(capture));
    REQUIRE(decoded);
    CHECK(decoded->processes == capture.processes);
  }
}

TEST_CASE("a file that is no capture, or not of this format, is refused by name") {
  const auto text = decode_capture("Traceback (most recent call last):");
  REQUIRE_FALSE(text);
  CHECK(text.error().code == Errc::kBadData);
  CHECK(text.error().what == "this is not an oddrank capture");
  CHECK_FALSE(decode_capture(""));
  CHECK_FALSE(decode_capture("ODDRANK"));

  std::string newer = encode_capture(sample_capture());
  newer[7] = 2;
  const auto refused = decode_capture(newer);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::kUnsupported);
  CHECK(refused.error().what == "the capture has format 2, this oddrank reads format 1");
}

TEST_CASE("a cut capture is refused at every length") {
  const std::string whole = encode_capture(sample_capture());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto cut = decode_capture(std::string_view(whole).substr(0, size));
    REQUIRE_FALSE(cut);
    REQUIRE(cut.error().code == Errc::kBadData);
  }
}

TEST_CASE("a capture that would unpack to too many bytes is refused before it is unpacked") {
  const auto refused = decode_capture(encode_capture(sample_capture()), 64);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().what.find("more than 64") != std::string::npos);
}

// The checksum-free body is what a hostile file controls: flip its bytes and see that the decoder
// either refuses or yields a capture whose ids are all good.
TEST_CASE("damaged columns never give a capture with ids out of bounds") {
  const std::string body = encode_document(to_document(sample_capture()));
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): repeatable on purpose
  int accepted = 0;
  for (int round = 0; round < 2000; ++round) {
    std::string damaged = body;
    for (int flips = 0; flips < 1 + round % 3; ++flips) {
      damaged[random() % damaged.size()] = static_cast<char>(random());
    }
    const auto document = decode_document(damaged);
    if (!document) {
      continue;
    }
    const auto capture = from_document(*document);
    if (!capture) {
      continue;
    }
    ++accepted;
    for (const FlightRecord& record : capture->collectives.flight) {
      REQUIRE(record.node < capture->nodes.size());
      for (const FlightEntry& entry : record.entries) {
        REQUIRE(entry.group < record.groups.size());
      }
    }
    for (const ProcessCapture& process : capture->processes) {
      REQUIRE(process.node < capture->nodes.size());
      REQUIRE(capture->tables.strings().contains(process.name));
      for (const ThreadCapture& thread : process.threads) {
        REQUIRE_FALSE(thread.samples.empty());
        REQUIRE(capture->tables.stacks().contains(thread.samples[0].stack));
        REQUIRE(thread.wait.on <= WaitOn::kNothing);
      }
    }
    (void)decode_capture(encode_capture(*capture));
  }
  CHECK(accepted > 0);  // some flips change a harmless number
}

TEST_CASE("deep nesting and other types are refused, not followed") {
  CHECK_FALSE(decode_document(std::string(1000000, '\x81')));  // arrays in arrays
  CHECK_FALSE(decode_document(std::string(1000000, '\xa1')));
  CHECK_FALSE(
      decode_document(std::string("\xa1\x61"
                                  "a\xf5",
                                  4)));                                  // {"a": true}
  CHECK_FALSE(decode_document(std::string("\x9a\xff\xff\xff\xff", 5)));  // an array of 4 G values
}

Result<Capture> reread(const Document& document) {
  auto read = decode_document(encode_document(document));
  REQUIRE(read);
  return from_document(*read);
}

TEST_CASE("rows that are missing, ids and counts out of range are refused by name") {
  Document document = to_document(sample_capture());
  SECTION("missing rows") {
    document.tables.erase("samples");
  }
  SECTION("spare rows") {
    for (auto& [name, column] : document.tables["samples"]) {
      column.push_back(column.front());
    }
  }
  SECTION("a column of another length") {
    document.tables["threads"]["tid"].push_back(1);
  }
  SECTION("negative id") {
    document.tables["threads"]["name"] = {-1};
  }
  SECTION("a process of a node that is not there") {
    document.tables["processes"]["node"] = {9, 9};
  }
  SECTION("awaited files that are not there") {
    document.tables["threads"]["awaited_files"] = {3};
  }
  SECTION("more awaited files than a wait lists") {
    document.tables["threads"]["awaited_files"] = {9};
    for (auto& [name, column] : document.tables["awaited_files"]) {
      column.resize(9, column.back());
    }
  }
  SECTION("huge count") {
    document.tables["threads"]["samples"] = {1LL << 31};
  }
  const auto refused = reread(document);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == Errc::kBadData);
  CHECK_FALSE(refused.error().what.empty());
}

// An older program meets what a newer one writes, and the other way round.
TEST_CASE("tables and columns that a program does not know are skipped") {
  const Capture capture = sample_capture();
  Document document = to_document(capture);
  document.tables["verdicts"]["x"] = {1};
  document.tables["threads"]["mood"] = Column(document.tables["threads"]["tid"].size(), 7);
  const auto read = reread(document);
  REQUIRE(read);
  CHECK(read->processes == capture.processes);
  CHECK(read->collectives == capture.collectives);
}

TEST_CASE("a value of an enumeration that a program does not know is the field's default") {
  Document document = to_document(sample_capture());
  for (const char* name : {"wait_on", "wait_how", "lock_kind"}) {
    document.tables["threads"][name] = {99};
  }
  const auto read = reread(document);
  REQUIRE(read);
  const Wait& wait = read->processes.front().threads.front().wait;
  CHECK(wait.on == WaitOn::kUnknown);
  CHECK(wait.how == WaitHow::kDescribed);
  CHECK(wait.lock.kind == LockKind::kUnknown);
}

TEST_CASE("each column may be missing: its field has the default") {
  const Document whole = to_document(sample_capture());
  int read = 0;
  int counts = 0;
  for (const auto& [table, columns] : whole.tables) {
    for (const auto& [name, numbers] : columns) {
      Document document = whole;
      document.tables[table].erase(name);
      const auto capture = reread(document);
      INFO(table << "." << name);
      if (whole.tables.contains(name) || columns.size() == 1) {  // rows without owners, and none
        CHECK_FALSE(capture);
        ++counts;
      } else if (capture) {
        ++read;
      } else {  // rows of a table that holds each once became equal
        CHECK((table == "frames" || table == "stacks" || table == "stack_frames"));
      }
    }
  }
  CHECK(counts > 20);
  CHECK(read > 150);
}

TEST_CASE("tables and columns have the order of their names, so that none occurs twice") {
  using namespace std::string_literals;
  CHECK(
      decode_document("\xa2\x61"
                      "a\xa0\x61"
                      "b\xa0"s));
  CHECK_FALSE(
      decode_document("\xa2\x61"
                      "a\xa0\x61"
                      "a\xa0"s));
  CHECK_FALSE(
      decode_document("\xa1\x61"
                      "a\xa2\x61"
                      "c\x41\x01\x61"
                      "c\x41\x01"s));
}

TEST_CASE("a number in the place of a text is refused") {
  // {"strings": {"text": [1]}}, and the same for a column that the table of texts does not have.
  using namespace std::string_literals;
  CHECK(decode_document("\xa1\x67strings\xa1\x64text\x80"s));
  CHECK_FALSE(decode_document("\xa1\x67strings\xa1\x64text\x81\x01"s));
  CHECK_FALSE(decode_document("\xa1\x67strings\xa1\x64numb\x81\x01"s));
}

}  // namespace
}  // namespace oddrank::snapshot
