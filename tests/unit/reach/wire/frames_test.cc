#include "reach/wire/frames.h"

#include <algorithm>
#include <random>

#include "base/split.h"
#include "tests/support/catch.h"

namespace oddrank::reach {
namespace {

std::string noise(std::size_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::string bytes(size, '\0');
  std::generate(bytes.begin(), bytes.end(), [&random] { return static_cast<char>(random()); });
  return bytes;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (const std::string_view line : split(text, '\n')) {
    lines.emplace_back(line);
  }
  return lines;
}

std::string joined(const std::vector<std::string>& lines, const std::string& label = "") {
  std::string text;
  for (const std::string& line : lines) {
    text += label + line + "\n";
  }
  return text;
}

// Returns the payloads of a collector that was fed the text in pieces of `step` bytes.
std::vector<Payload> collect(const std::string& text, std::size_t step = 1U << 20) {
  FrameCollector collector;
  for (std::size_t at = 0; at < text.size(); at += step) {
    collector.feed(std::string_view(text).substr(at, step));
  }
  collector.finish();
  return collector.take_complete();
}

TEST_CASE("frames carry payloads of any size, in lines of at most 900 bytes") {
  for (const std::size_t size : {0U, 1U, 2U, 3U, 599U, 600U, 601U, 602U, 5000U, 100000U}) {
    const std::string payload = noise(size, 7);
    const std::string text = encode_frames({"n0", 1}, payload);
    for (const std::string& line : lines_of(text)) {
      CHECK(line.size() + 1 <= kMaxFrameLine);
    }
    const auto got = collect(text);
    REQUIRE(got.size() == 1);
    CHECK(got[0].host == "n0");
    CHECK(got[0].label == -1);
    CHECK((got[0].bytes == payload));
  }
}

TEST_CASE("frames stay short with the longest names and numbers") {
  const std::string host(1000, 'h');
  const std::string text = encode_frames({host, ~std::uint64_t{0}}, noise(50000, 1));
  for (const std::string& line : lines_of(text)) {
    CHECK(line.size() + 1 <= kMaxFrameLine);
  }
  const auto got = collect(text);
  REQUIRE(got.size() == 1);
  CHECK(got[0].host == host.substr(0, 255));
  CHECK(collect(encode_frames({"a b\n@/", 1}, "x"))[0].host == "a_b___");
}

TEST_CASE("a frame counts only for the node of its label, and with the run's word") {
  const auto payloads = [](const std::string& text, const Speakers& speakers) {
    FrameCollector collector({}, speakers);
    collector.feed(text);
    collector.finish();
    std::string hosts;
    for (const Payload& payload : collector.take_complete()) {
      hosts += payload.host + "=" + payload.bytes + " ";
    }
    return hosts + std::to_string(collector.refusals().size());
  };
  const auto said = [](int label, const char* host, const char* bytes) {
    return std::to_string(label) + ": " + encode_frames({host, 7, "run"}, bytes);
  };
  const std::string own = said(0, "a", "own") + said(1, "b", "own");
  const std::string forged = said(1, "a", "lie");
  CHECK(payloads(own + forged, {"run", {"a", "b"}, true}) == "a=own b=own 1");
  CHECK(payloads(forged + own, {"run", {"a", "b"}, true}) == "a=own b=own 1");
  CHECK(payloads(own, {"other", {"a", "b"}, true}) == "2");
  // One connection has one host, whatever stands before its lines; a line of no task has no host.
  CHECK(payloads(own, {"run", {"a"}, true}) == "a=own 1");
  CHECK(payloads(encode_frames({"a", 7, "run"}, "x"), {"run", {"a", "b"}, true}) == "1");
  // Where SLURM numbers the tasks, the first word counts.
  CHECK(payloads(own + forged + said(2, "b", "lie"), {"run", {}, true}) == "a=own b=own 2");
  CHECK(payloads(own + forged, {}) == "a=own b=own a=lie 0");
}

TEST_CASE("frames may come in chunks of any size") {
  const std::string payload = noise(3000, 2);
  const std::string text = "3: " + joined(lines_of(encode_frames({"n3", 9}, payload)), "3: ");
  for (const std::size_t step : {1U, 2U, 7U, 64U, 899U, 1024U}) {
    const auto got = collect(text, step);
    REQUIRE(got.size() == 1);
    CHECK((got[0].bytes == payload));
  }
}

TEST_CASE("frames may be shuffled and repeated, and those of several hosts mixed") {
  std::vector<std::string> lines;
  std::vector<std::string> payloads;
  for (unsigned i = 0; i < 5; ++i) {
    payloads.push_back(noise(4000 + i, i));
    for (const std::string& line :
         lines_of(encode_frames({"n" + std::to_string(i), i}, payloads[i]))) {
      const std::string labelled = std::to_string(9 - i) + ": " + line;
      lines.insert(lines.end(), {labelled, labelled});
    }
  }
  std::mt19937 random(5);
  for (int round = 0; round < 20; ++round) {
    std::shuffle(lines.begin(), lines.end(), random);
    auto got = collect(joined(lines));
    REQUIRE(got.size() == 5);
    std::sort(got.begin(), got.end(),
              [](const Payload& a, const Payload& b) { return a.host < b.host; });
    for (unsigned i = 0; i < 5; ++i) {
      CHECK(got[i].host == "n" + std::to_string(i));
      CHECK(got[i].label == static_cast<int>(9 - i));
      CHECK((got[i].bytes == payloads[i]));
    }
  }
}

TEST_CASE("a stream cut at any byte is incomplete, never wrong") {
  const std::string payload = noise(1500, 3);
  const std::string text = encode_hello({"n1", 4}) + encode_frames({"n1", 4}, payload);
  // The newline and what is in front of it (the frame's own end) decide.
  for (std::size_t size = 0; size < text.size() - 1; ++size) {
    FrameCollector collector;
    collector.feed(text.substr(0, size));
    collector.finish();
    REQUIRE(collector.take_complete().empty());
  }
  CHECK(collect(text.substr(0, text.size() - 1)).size() == 1);
}

TEST_CASE("one wrong byte anywhere costs the payload, and the error says whose") {
  const std::string payload = noise(1500, 4);
  const std::string text = encode_frames({"n1", 4}, payload);
  std::mt19937 random(8);
  for (std::size_t at = 0; at < text.size() - 1; ++at) {
    std::string damaged = text;
    damaged[at] =
        static_cast<char>(static_cast<unsigned char>(damaged[at]) ^ (1U << (random() % 7U)));
    FrameCollector collector;
    collector.feed(damaged);
    collector.finish();
    const auto got = collector.take_complete();
    INFO(at);
    // A change to the case of a checksum's digit, or to a newline, does no harm.
    REQUIRE((got.empty() || got[0].bytes == payload));
    if (got.empty()) {
      REQUIRE(collector.incomplete().size() == 1);
      CHECK(collector.incomplete()[0].host == "n1");
      CHECK(collector.incomplete()[0].total == 3);
      CHECK(collector.incomplete()[0].received == 2);
    }
  }
}

TEST_CASE("foreign output stands between, before and after frames") {
  const std::string payload = noise(2500, 5);
  const auto lines = lines_of(encode_frames({"n2", 6}, payload));
  std::string text = "slurmstepd: warning: @odd2 and more\n";
  for (const std::string& line : lines) {
    text += "some warning" + line + "tail of another line\n\nfoo: 3: bar\n";
  }
  const auto got = collect(text);
  REQUIRE(got.size() == 1);
  CHECK((got[0].bytes == payload));
}

TEST_CASE("a line torn apart by another is lost, the frame in its middle is not") {
  const auto outer = lines_of(encode_frames({"n0", 1}, noise(100, 1)));
  const auto inner = lines_of(encode_frames({"n1", 2}, noise(100, 2)));
  for (std::size_t at = 0; at <= outer[0].size(); ++at) {
    FrameCollector collector;
    collector.feed(outer[0].substr(0, at) + inner[0] + outer[0].substr(at) + "\n");
    const auto got = collector.take_complete();
    const bool has_inner =
        std::any_of(got.begin(), got.end(), [](const Payload& each) { return each.host == "n1"; });
    CHECK(has_inner);
  }
}

TEST_CASE("lines cut as srun cuts them at the end of a task are put together") {
  // Seen with slurm 22.05: the rest of the buffer when a task exits comes in pieces of 1024
  // bytes, each ended by a newline and begun with the label again.
  const std::string payload = noise(20000, 6);
  const std::string text = encode_frames({"n0", 1}, payload);
  const std::string other = joined(lines_of(encode_frames({"n1", 2}, payload)), "1: ");
  for (std::size_t first = 1; first < 1024; first += 5) {
    std::string cut;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = at == 0 ? first : 1024;
      std::string piece = text.substr(at, size);
      if (piece.back() == '\n') {
        piece.pop_back();
      }
      for (const std::string& line : lines_of(piece)) {
        cut += "0: " + line + "\n";
      }
      cut += other.substr(0, other.find('\n') + 1);  // another task's in between
      at += size;
    }
    const auto got = collect(cut);
    REQUIRE(got.size() == 1);
    REQUIRE((got[0].bytes == payload));
  }
}

TEST_CASE("a frame cut into many pieces is put together") {
  const auto line = lines_of(encode_frames({"node.with.dots", 1}, noise(300, 1)))[0];
  for (const std::size_t step : {1U, 3U, 10U, 100U}) {
    std::string cut;
    for (std::size_t at = 0; at < line.size(); at += step) {
      cut += "7: " + line.substr(at, step) + "\n";
    }
    CHECK(collect(cut).size() == 1);
  }
}

TEST_CASE("a hello alone shows that a sender began") {
  FrameCollector collector;
  collector.feed("2: " + encode_hello({"n2", 77}));
  CHECK(collector.heard_of("n2"));
  CHECK_FALSE(collector.heard_of("n1"));
  CHECK(collector.take_complete().empty());
  REQUIRE(collector.incomplete().size() == 1);
  CHECK(collector.incomplete()[0].total == 0);
  CHECK(collector.hosts_of_labels() == std::map<int, std::string>{{2, "n2"}});
  collector.feed("2: " + encode_frames({"n2", 77}, "x"));
  CHECK(collector.incomplete().empty());
  CHECK(collector.take_complete().size() == 1);
  CHECK(collector.take_complete().empty());
}

TEST_CASE("a draft is told from the payload itself") {
  FrameCollector collector;
  const Sender sender{"n0", 7};
  collector.feed(encode_hello(sender) + encode_draft(sender, "so far") +
                 encode_draft(sender, "more") + encode_frames(sender, "all"));
  const std::vector<Payload> payloads = collector.take_complete();
  REQUIRE(payloads.size() == 3);
  CHECK((payloads[0].draft && payloads[0].bytes == "so far"));
  CHECK((payloads[1].draft && payloads[1].bytes == "more"));
  CHECK((!payloads[2].draft && payloads[2].bytes == "all"));
}

TEST_CASE("a sender's progress is kept, printable and short") {
  FrameCollector collector;
  collector.feed("2: " + encode_hello({"n2", 77}));
  CHECK(collector.doing_of("n2").empty());
  collector.feed("2: " + encode_doing({"n2", 77}, "waits are young, sampling again (3)"));
  collector.feed("2: " + encode_doing({"n2", 77}, "sampling\x1b[1m again (4)"));
  CHECK(collector.doing_of("n2") == "sampling?[1m again (4)");
  CHECK(collector.doing_of("n1").empty());
  CHECK(collector.incomplete().size() == 1);
  collector.feed("2: " + encode_doing({"n2", 77}, std::string(2000, 'x')));
  CHECK(collector.doing_of("n2").size() == kMaxDoing);
  collector.feed("2: " + encode_frames({"n2", 77}, "x"));
  CHECK(collector.take_complete().size() == 1);
}

TEST_CASE("other lines are kept by label, bounded") {
  FrameLimits limits;
  limits.text = 20;
  limits.labels = 2;
  FrameCollector collector(limits);
  collector.feed("0: one\nno label\n 1: padded\n0: two\n2: a third label\n");
  collector.feed("0: far too long to be kept here\n0: three");
  collector.finish();
  CHECK(collector.text() ==
        std::map<int, std::string>{{-1, "no label\n"}, {0, "one\ntwo\nthree\n"}});
}

TEST_CASE("limits hold: streams, payloads, endless lines, absurd totals") {
  FrameLimits limits;
  limits.payload = 3000;
  limits.total = 5000;
  limits.streams = 4;
  FrameCollector collector(limits);
  collector.feed(encode_frames({"big", 1}, noise(5000, 1)));
  CHECK(collector.take_complete().empty());
  for (unsigned i = 0; i < 100; ++i) {
    collector.feed(encode_hello({"n", 100 + i}));
  }
  CHECK(collector.incomplete().size() == 4);
  FrameCollector endless;
  for (int i = 0; i < 1000; ++i) {
    endless.feed(std::string(1000, 'x'));
  }
  endless.feed(encode_frames({"n0", 1}, "found at the end"));
  CHECK(endless.take_complete().size() == 1);
}

TEST_CASE("a frame is found wherever a line without an end is cut") {
  const std::string frame = encode_frames({"n0", 1}, noise(500, 1));
  for (std::size_t before = 15000; before < 17500; before += 13) {
    CHECK(collect(std::string(before, 'x') + frame).size() == 1);
  }
}

TEST_CASE("any bytes are survived") {
  std::mt19937 random(11);
  const std::string good = encode_frames({"n0", 1}, noise(2000, 1));
  for (int round = 0; round < 300; ++round) {
    std::string text = good;
    for (int i = 0; i < 8; ++i) {
      const std::size_t at = random() % text.size();
      switch (random() % 4U) {
        case 0:
          text.insert(at, noise(random() % 40U, static_cast<unsigned>(random())));
          break;
        case 1:
          text.erase(at, random() % 40U);
          break;
        case 2:
          text.insert(at, "\n@odd2 n0 1 18446744073709551615/0 0 .\n");
          break;
        default:
          text[at] = static_cast<char>(random());
      }
    }
    for (const Payload& payload : collect(text, 1 + random() % 100U)) {
      CHECK((payload.bytes == noise(2000, 1)));
    }
  }
}

TEST_CASE("stream ids are not repeated") {
  std::vector<std::uint64_t> ids(100);
  std::generate(ids.begin(), ids.end(), new_stream_id);
  std::sort(ids.begin(), ids.end());
  CHECK(std::adjacent_find(ids.begin(), ids.end()) == ids.end());
}

}  // namespace
}  // namespace oddrank::reach
