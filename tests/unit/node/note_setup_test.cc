// What the kernel says of the GPUs' driver.
#include "node/note_setup.h"

#include "tests/support/catch.h"

namespace oddrank::node {
namespace {

TEST_CASE("the driver's version is the number of the first line") {
  CHECK(nvidia_version("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 "
                       "19:39:15 UTC 2024\nGCC version:  gcc version 12.2.0\n") == "535.183.01");
  CHECK(nvidia_version("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  "
                       "Release Build  (dvs-builder)\n") == "570.86.15");
}

TEST_CASE("a text of another form has no version") {
  CHECK(nvidia_version("").empty());
  CHECK(nvidia_version("NVRM version:\nGCC version 12.2.0").empty());
  CHECK(nvidia_version("   ").empty());
}

}  // namespace
}  // namespace oddrank::node
