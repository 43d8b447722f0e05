# pylint: disable=missing-module-docstring,wildcard-import,unused-wildcard-import,undefined-variable
#
# A package repository for Spack 1.x:
#
#   spack repo add CHECKOUT/packaging/spack/spack_repo/oddrank && spack install oddrank
#
# No release is published, so the source is the checkout that holds this file. The program needs the libraries that
# it is built with: put the installation where all nodes see it, as Spack's usually are. (Other packages have
# one static program.)

from spack_repo.builtin.build_systems.cmake import CMakePackage, generator

from spack.package import *


class Oddrank(CMakePackage):
    """Names the rank that holds up a hung distributed training job, and why: reads the stuck processes, follows
    the waits from rank to rank, and shows the evidence. Nothing has to be prepared in the job."""

    homepage = "file://" + ancestor(__file__, 7) + "/README.md"
    git = "file://" + ancestor(__file__, 7)

    license("Apache-2.0")

    version("main", branch="main")
    version("0.1.0", tag="v0.1.0")

    generator("ninja")
    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("pkgconfig", type="build")

    depends_on("boost@1.74: +filesystem")
    depends_on("cli11@2.1:", type="build")
    depends_on("elfutils@0.188:")
    depends_on("fmt@9:10")
    depends_on("libmd")
    depends_on("libunwind@1.6:")
    depends_on("nlohmann-json@3.11:", type="build")
    depends_on("tl-expected@1:", type="build")
    depends_on("zlib-api")
    depends_on("zstd")

    requires("platform=linux", msg="oddrank reads processes of Linux")
    requires("target=x86_64:", "target=aarch64:", policy="one_of", msg="oddrank reads stacks of these two")

    def cmake_args(self):
        return [
            self.define("ODDRANK_BUILD_TESTS", False),
            self.define("ODDRANK_WERROR", False),
            self.define("ODDRANK_UNITY", True),
        ]

    def test_version(self):
        """starts, and says its version"""
        oddrank = which(self.prefix.bin.oddrank, required=True)
        words = oddrank("--version", output=str.split, error=str.split)
        version = "" if self.spec.version.isdevelop() else str(self.spec.version)
        assert words.startswith(f"oddrank {version}"), words
