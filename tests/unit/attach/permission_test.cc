#include "attach/permission.h"

#include "tests/support/catch.h"

using oddrank::Errc;
using oddrank::attach::AccessBlock;
using oddrank::attach::AccessFacts;
using oddrank::attach::describe_block;
using oddrank::attach::find_block;
using oddrank::attach::ProcStatus;

namespace {

constexpr std::uint64_t kSysPtrace = 1U << 19U;

ProcStatus owned_by(uid_t uid) {
  ProcStatus status;
  status.real_uid = status.effective_uid = status.saved_uid = uid;
  status.real_gid = status.effective_gid = status.saved_gid = uid;
  return status;
}

// Returns a sleeping process of user 1000, read by the same user.
AccessFacts readable() {
  AccessFacts facts;
  facts.pid = 4250;
  facts.exists = true;
  facts.state = 'S';
  facts.target = owned_by(1000);
  facts.self = owned_by(1000);
  return facts;
}

}  // namespace

TEST_CASE("nothing forbids reading a process of the same user") {
  CHECK(find_block(readable()) == AccessBlock::kNone);
}

TEST_CASE("each rule that forbids reading is found") {
  AccessFacts facts = readable();
  SECTION("gone") {
    facts.exists = false;
    CHECK(find_block(facts) == AccessBlock::kGone);
  }
  SECTION("hidden by /proc") {
    facts.hidden = true;
    CHECK(find_block(facts) == AccessBlock::kHidden);
  }
  SECTION("zombie") {
    facts.state = 'Z';
    CHECK(find_block(facts) == AccessBlock::kZombie);
  }
  SECTION("kernel thread") {
    facts.kernel_thread = true;
    CHECK(find_block(facts) == AccessBlock::kKernelThread);
  }
  SECTION("another user") {
    facts.target = owned_by(1001);
    CHECK(find_block(facts) == AccessBlock::kOtherUser);
    facts.self.effective_capabilities = kSysPtrace;
    CHECK(find_block(facts) == AccessBlock::kNone);
  }
  SECTION("setuid, or another group only") {
    facts.target.saved_uid = 0;
    CHECK(find_block(facts) == AccessBlock::kOtherUser);
    facts.target = owned_by(1000);
    facts.target.effective_gid = 5;
    CHECK(find_block(facts) == AccessBlock::kOtherUser);
  }
  SECTION("root without the capability") {
    facts.self = owned_by(0);
    CHECK(find_block(facts) == AccessBlock::kNoCapability);
  }
  SECTION("not dumpable") {
    facts.dumpable = false;
    CHECK(find_block(facts) == AccessBlock::kNotDumpable);
    facts.self.effective_capabilities = kSysPtrace;
    CHECK(find_block(facts) == AccessBlock::kNone);
  }
  SECTION("another user namespace") {
    facts.same_user_namespace = false;
    CHECK(find_block(facts) == AccessBlock::kUserNamespace);
  }
  SECTION("more capabilities than we have") {
    facts.target.permitted_capabilities = 1;
    CHECK(find_block(facts) == AccessBlock::kCapabilities);
  }
}

TEST_CASE("Yama's four settings") {
  AccessFacts facts = readable();
  facts.yama_scope = 1;
  CHECK(find_block(facts) == AccessBlock::kYamaDescendants);
  facts.is_descendant = true;
  CHECK(find_block(facts) == AccessBlock::kNone);
  facts.yama_scope = 2;
  CHECK(find_block(facts) == AccessBlock::kYamaAdmin);
  facts.self.effective_capabilities = kSysPtrace;
  CHECK(find_block(facts) == AccessBlock::kNone);
  facts.yama_scope = 3;
  CHECK(find_block(facts) == AccessBlock::kYamaNobody);
}

TEST_CASE("the remedy follows from where oddrank itself runs") {
  AccessFacts facts = readable();
  facts.same_user_namespace = false;
  CHECK(describe_block(find_block(facts), facts, "read").hint.find("inside of that container") !=
        std::string::npos);
  facts.in_user_namespace = true;
  CHECK(describe_block(find_block(facts), facts, "read").hint.find("outside of its container") !=
        std::string::npos);
  facts = readable();
  facts.profile = "site-tools";
  const auto error = describe_block(find_block(facts), facts, "read");
  CHECK(error.what.find("AppArmor confines oddrank by the profile site-tools") !=
        std::string::npos);
  CHECK(error.hint.find("ptrace (read, trace)") != std::string::npos);
}

TEST_CASE("each block is a sentence with a remedy") {
  const AccessFacts facts = readable();
  for (int block = 0; block <= static_cast<int>(AccessBlock::kYamaNobody); ++block) {
    const auto error = describe_block(static_cast<AccessBlock>(block), facts, "read");
    INFO(error.what);
    CHECK(error.what.rfind("cannot read pid 4250: ", 0) == 0);
    CHECK(error.what.back() != '.');
    CHECK_FALSE(error.hint.empty());
  }
}

TEST_CASE("the sentences name users, setting and cure") {
  AccessFacts facts = readable();
  facts.target = owned_by(1001);
  const auto other = describe_block(AccessBlock::kOtherUser, facts, "read");
  CHECK(other.code == Errc::kPermission);
  CHECK(other.what == "cannot read pid 4250: it belongs to user 1001, we are user 1000");
  CHECK(other.hint.find("sudo") != std::string::npos);
  const auto yama = describe_block(AccessBlock::kYamaDescendants, facts, "read");
  CHECK(yama.what.find("ptrace_scope 1") != std::string::npos);
  CHECK(yama.hint.find("sysctl kernel.yama.ptrace_scope=0") != std::string::npos);
  CHECK(describe_block(AccessBlock::kGone, facts, "read").code == Errc::kGone);
  CHECK(describe_block(AccessBlock::kZombie, facts, "read").code == Errc::kGone);
  CHECK(describe_block(AccessBlock::kKernelThread, facts, "read").code == Errc::kUnsupported);
}
