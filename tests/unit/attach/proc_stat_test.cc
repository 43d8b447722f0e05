#include "attach/proc_stat.h"

#include <string>

#include "tests/support/catch.h"

using oddrank::Errc;
using oddrank::attach::parse_proc_stat;

namespace {

// Fields 5 to 52 as the kernel prints them, with the numbers that matter filled in.
std::string stat_line(const std::string& name, char state, const std::string& flags = "4194304") {
  return "4250 (" + name + ") " + state + " 4200 4250 4100 0 -1 " + flags +
         " 100 0 0 0 150 25 0 0 20 0 7 0 123456 1000000 500 18446744073709551615 1 1 0 0 0 0 0 0 0 "
         "0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 768\n";
}

}  // namespace

TEST_CASE("a stat line has state, parent, times and exit code") {
  const auto stat = parse_proc_stat(stat_line("python3", 'Z'));
  REQUIRE(stat);
  CHECK(stat->pid == 4250);
  CHECK(stat->name == "python3");
  CHECK(stat->state == 'Z');
  CHECK(stat->parent == 4200);
  CHECK(stat->group == 4250);
  CHECK(stat->session == 4100);
  CHECK(stat->cpu_us == 1750000);
  CHECK(stat->start_us == 1234560000);
  CHECK(stat->threads == 7);
  CHECK(stat->cpu == 1);
  CHECK(stat->exit_code == 768);
  CHECK_FALSE(stat->kernel_thread);
}

TEST_CASE("a name may hold blanks, brackets and newlines") {
  for (const char* name :
       {"a) S 1 (b", "((", "))", "tmux: server", "two\nlines", "", ") Z 1 2 3"}) {
    const auto stat = parse_proc_stat(stat_line(name, 'S'));
    INFO(name);
    REQUIRE(stat);
    CHECK(stat->name == name);
    CHECK(stat->state == 'S');
    CHECK(stat->parent == 4200);
  }
}

TEST_CASE("a kernel thread is recognised by its flags") {
  const auto stat = parse_proc_stat(stat_line("kworker/0:1", 'I', "69238880"));
  REQUIRE(stat);
  CHECK(stat->kernel_thread);
}

TEST_CASE("text that is no stat line is refused") {
  const std::string whole = stat_line("python3", 'S');
  for (const std::string& text :
       {std::string(), std::string("4250"), std::string("4250 (python3"), std::string(")("),
        std::string("x (python3) S 1 2 3"), whole.substr(0, 60), std::string(400, '\xff'),
        std::string("1 (a) SS 1 1 1 0 -1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1")}) {
    const auto stat = parse_proc_stat(text);
    INFO(text);
    REQUIRE_FALSE(stat);
    CHECK(stat.error().code == Errc::kBadData);
  }
}

TEST_CASE("times that do not fit are cut, not wrapped") {
  const auto stat = parse_proc_stat(
      "1 (a) S 0 1 1 0 -1 0 0 0 0 0 18446744073709551615 0 0 0 20 0 1 0 18446744073709551615 0 0");
  REQUIRE(stat);
  CHECK(stat->start_us == ~std::uint64_t{0});
}
