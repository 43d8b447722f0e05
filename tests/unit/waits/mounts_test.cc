#include "waits/mounts.h"

#include "tests/support/catch.h"

namespace oddrank::waits {
namespace {

constexpr const char* kMounts =
    "22 1 254:1 / / rw,relatime shared:1 - ext4 /dev/vda1 rw\n"
    "40 22 0:52 / /data rw,relatime shared:5 master:2 - nfs4 filer:/export/data rw,addr=10.0.0.9\n"
    "41 40 0:53 / /data/fast rw - lustre 10.0.0.3@tcp:/fast rw\n"
    "42 22 0:54 / /my\\040disk rw - fuse.sshfs me@there:/x rw\n"
    "43 22 0:55 / /twice rw - tmpfs tmpfs rw\n"
    "44 43 0:56 / /twice rw - xfs /dev/sdb1 rw\n";

std::string words_of(std::string_view path) {
  const auto mount = mount_of(kMounts, path);
  return mount ? mount_words(*mount) : "";
}

TEST_CASE("the longest folder matches a path, the last mount covers others at the same folder") {
  CHECK(words_of("/data/x/7.tar") == "nfs4 filer:/export/data at /data");
  CHECK(words_of("/data") == "nfs4 filer:/export/data at /data");
  CHECK(words_of("/data/fast/7.tar") == "lustre 10.0.0.3@tcp:/fast at /data/fast");
  CHECK(words_of("/database/7.tar") == "ext4 /dev/vda1 at /");
  CHECK(words_of("/twice/x") == "xfs /dev/sdb1 at /twice");
  CHECK(words_of("/my disk/x") == "fuse.sshfs me@there:/x at /my disk");
}

TEST_CASE("some file systems depend on servers or other processes") {
  CHECK(is_remote(*mount_of(kMounts, "/data/x")));
  CHECK(is_remote(*mount_of(kMounts, "/data/fast/x")));
  CHECK(is_remote(*mount_of(kMounts, "/my disk/x")));
  CHECK_FALSE(is_remote(*mount_of(kMounts, "/x")));
  CHECK_FALSE(is_remote(*mount_of(kMounts, "/twice/x")));
}

TEST_CASE("file systems of one kind and source differ by their devices") {
  constexpr std::string_view kTwins =
      "30 22 0:30 / /tmp rw - tmpfs tmpfs rw\n31 22 0:31 / /var/tmp rw - tmpfs tmpfs rw\n";
  CHECK(mount_of(kTwins, "/tmp/x")->device == "0:30");
  CHECK(mount_of(kTwins, "/var/tmp/x")->device == "0:31");
}

TEST_CASE("the device of a mount") {
  constexpr std::string_view kTwo =
      "22 1 254:1 / / rw - ext4 a b\n30 22 0:30 / /tmp rw - tmpfs a b\n31 x\n32 22 0-30 / /y\n";
  CHECK(device_of_mount(kTwo, 22) == (std::uint64_t{254} << 32 | 1));
  CHECK(device_of_mount(kTwo, 30) == 30);
  CHECK_FALSE(device_of_mount(kTwo, 31));
  CHECK_FALSE(device_of_mount(kTwo, 32));
  CHECK_FALSE(device_of_mount(kTwo, 2));
  CHECK_FALSE(device_of_mount("", 0));
}

TEST_CASE("an invalid path or table has no mount") {
  CHECK_FALSE(mount_of(kMounts, "pipe:[5]"));
  CHECK_FALSE(mount_of(kMounts, ""));
  CHECK_FALSE(mount_of("22 1 254:1 / / rw - ext4\n", "/x"));
  CHECK_FALSE(mount_of("22 1 254:1 / / rw\n- ext4 a b\n\n", "/x"));
  CHECK_FALSE(mount_of("", "/x"));
}

}  // namespace
}  // namespace oddrank::waits
