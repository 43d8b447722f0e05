#include "attach/proc_status.h"

#include <string>

#include "tests/support/catch.h"

using oddrank::Errc;
using oddrank::attach::parse_proc_status;

TEST_CASE("a status has owner, tracer, namespaces, signals and switches") {
  const auto status = parse_proc_status(
      "Name:\tpython3\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4250\nNgid:\t0\nPid:\t4251\n"
      "PPid:\t1\nTracerPid:\t77\nUid:\t1000\t1001\t1002\t1003\nGid:\t100\t101\t102\t103\n"
      "NSpid:\t4251\t12\t3\nSigPnd:\t0000000000040000\nShdPnd:\t0000000000004000\n"
      "CapPrm:\t000001ffffffffff\nCapEff:\t0000000000080000\n"
      "voluntary_ctxt_switches:\t150\nnonvoluntary_ctxt_switches:\t545\n");
  REQUIRE(status);
  CHECK(status->state == 'S');
  CHECK(status->process == 4250);
  CHECK(status->tracer == 77);
  CHECK(status->real_uid == 1000);
  CHECK(status->effective_uid == 1001);
  CHECK(status->saved_uid == 1002);
  CHECK(status->effective_gid == 101);
  CHECK(status->ns_pids == std::vector<pid_t>{4251, 12, 3});
  CHECK(status->permitted_capabilities == 0x1ffffffffffU);
  CHECK(status->effective_capabilities == 0x80000);
  CHECK(status->voluntary_switches == 150);
  CHECK(status->involuntary_switches == 545);
}

TEST_CASE("missing and broken lines leave their fields unset") {
  const auto status = parse_proc_status(
      "Uid:\t7\nUid:\t8\t8\t8\nTracerPid:\tx\nNSpid:\t5 y 6\nno colon\n:\nSigPnd:\tzz\n"
      "voluntary_ctxt_switches:\t-1");
  REQUIRE(status);
  CHECK(status->real_uid == 7);
  CHECK(status->effective_uid == 0);
  CHECK(status->state == '?');
  CHECK(status->tracer == 0);
  CHECK(status->ns_pids == std::vector<pid_t>{5});
  CHECK(status->voluntary_switches == 0);
}

TEST_CASE("an endless list of namespaces is cut") {
  std::string text = "Uid:\t0\t0\t0\t0\nNSpid:";
  for (int i = 1; i < 1000; ++i) {
    text += "\t" + std::to_string(i);
  }
  CHECK(parse_proc_status(text)->ns_pids.size() == 33);
}

TEST_CASE("text without an owner is no status") {
  for (const char* text : {"", "\n\n", "Name:\tpython3\n", "Uid"}) {
    const auto status = parse_proc_status(text);
    REQUIRE_FALSE(status);
    CHECK(status.error().code == Errc::kBadData);
  }
}
