#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string_view>
#include <utility>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

UniqueFd memory_file(std::string_view text) {
  UniqueFd fd(::memfd_create("mapped", MFD_CLOEXEC));
  REQUIRE(::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  return fd;
}

TEST_CASE("a file is mapped whole, and the mapping moves with its owner") {
  auto mapped = MappedFile::map(memory_file("abc"));
  REQUIRE(mapped);
  const std::byte* const at = mapped->span().data();
  MappedFile other(*std::move(mapped));
  CHECK(mapped->span().empty());  // NOLINT(bugprone-use-after-move): that it is empty is promised
  REQUIRE(other.span().size() == 3);
  CHECK(other.span().data() == at);
  CHECK(other.span()[2] == std::byte{'c'});
  MappedFile third;
  CHECK(third.span().empty());
  third = std::move(other);
  CHECK(third.span().data() == at);
}

TEST_CASE("an empty file, a non-file or a closed descriptor is not mapped") {
  CHECK(MappedFile::map(memory_file("")).error().code == Errc::kBadData);
  CHECK(MappedFile::map(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC))).error().code ==
        Errc::kBadData);
  CHECK_FALSE(MappedFile::map(UniqueFd()));
}

}  // namespace
}  // namespace oddrank
