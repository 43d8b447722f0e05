// InMemoryTarget on a process one page of whose mapped file was dropped from its memory.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "attach/in_memory_target.h"
#include "attach/live_target.h"
#include "base/unique_fd.h"
#include "tests/support/catch.h"

namespace oddrank::attach {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kPages = 3;

// A child that has the file mapped and, of its three pages, all but the second in memory.
class DroppedPage {
 public:
  DroppedPage();
  ~DroppedPage();
  DroppedPage(const DroppedPage&) = delete;
  DroppedPage& operator=(const DroppedPage&) = delete;
  DroppedPage(DroppedPage&&) = delete;
  DroppedPage& operator=(DroppedPage&&) = delete;

  pid_t pid() const { return pid_; }
  Addr page(std::size_t number) const { return start_ + number * kPage; }

 private:
  [[noreturn]] static void hold(char* bytes, int ready);

  Addr start_{};
  char* bytes_ = nullptr;
  pid_t pid_ = -1;
};

DroppedPage::DroppedPage() {
  std::string name = "/tmp/oddrank-test-XXXXXX";
  const UniqueFd file(::mkstemp(name.data()));
  REQUIRE(file.valid());
  ::unlink(name.c_str());
  const std::string text(kPages * kPage, 'x');
  REQUIRE(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  void* const mapped = ::mmap(nullptr, text.size(), PROT_READ, MAP_PRIVATE, file.get(), 0);
  REQUIRE(mapped != MAP_FAILED);
  bytes_ = static_cast<char*>(mapped);
  start_ = Addr{reinterpret_cast<std::uint64_t>(mapped)};
  std::array<int, 2> ends{};
  REQUIRE(::pipe(ends.data()) == 0);
  const UniqueFd ready(ends[0]);
  UniqueFd say_ready(ends[1]);
  pid_ = ::fork();
  if (pid_ == 0) {
    hold(bytes_, say_ready.get());
  }
  REQUIRE(pid_ > 0);
  say_ready.reset();
  char got = 0;
  REQUIRE(::read(ready.get(), &got, 1) == 1);
}

DroppedPage::~DroppedPage() {
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  ::munmap(bytes_, kPages * kPage);
}

void DroppedPage::hold(char* bytes, int ready) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  volatile char sum = 0;
  for (std::size_t page = 0; page < kPages; ++page) {
    sum = static_cast<char>(sum + bytes[page * kPage]);
  }
  ::madvise(bytes + kPage, kPage, MADV_DONTNEED);
  if (::write(ready, "r", 1) != 1) {
    ::_exit(1);
  }
  for (;;) {
    ::pause();
  }
}

TEST_CASE("what is in memory is read, what was dropped is not, not even in part") {
  const DroppedPage victim;
  const auto live = LiveTarget::open(victim.pid());
  REQUIRE(live);
  const InMemoryTarget resident(**live);
  std::array<std::byte, 16> bytes{};
  for (int round = 0; round < 2; ++round) {  // the first refusal has brought nothing back
    CHECK(resident.read(victim.page(0), bytes));
    CHECK(bytes.front() == std::byte{'x'});
    CHECK(resident.read(victim.page(2), bytes));
    const Status dropped = resident.read(victim.page(1), bytes);
    REQUIRE_FALSE(dropped);
    CHECK(dropped.error().code == Errc::kNotFound);
    CHECK_FALSE(resident.read(victim.page(1) - 8, bytes));
    CHECK_FALSE(resident.read(victim.page(2) - 8, bytes));
  }
  std::vector<ReadRequest> requests = {{victim.page(0), bytes}, {victim.page(1), bytes}};
  resident.read_many(requests);
  CHECK(requests[0].got == bytes.size());
  CHECK(requests[1].got == 0);
  CHECK((*live)->read(victim.page(1), bytes));  // which reads the file
}

TEST_CASE("addresses that nobody has are not in memory") {
  const DroppedPage victim;
  const auto live = LiveTarget::open(victim.pid());
  REQUIRE(live);
  const InMemoryTarget resident(**live);
  std::array<std::byte, 16> bytes{};
  for (const std::uint64_t address : {std::uint64_t{0}, std::uint64_t{4096}, ~std::uint64_t{0},
                                      ~std::uint64_t{0} - 16, std::uint64_t{1} << 63}) {
    CHECK_FALSE(resident.read(Addr{address}, bytes));
  }
}

}  // namespace
}  // namespace oddrank::attach
