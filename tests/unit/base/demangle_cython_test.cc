
#include "base/names/demangle.h"
#include "tests/support/catch.h"

namespace oddrank {

// Names that Cython 3 has made of a module pkg.cyx.
TEST_CASE("names of Cython's functions are those of the source") {
  CHECK(demangle_cython("__pyx_f_3pkg_3cyx_5Model_inner") == "pkg.cyx.Model.inner");
  CHECK(demangle_cython("__pyx_pw_3pkg_3cyx_5Model_1forward") == "pkg.cyx.Model.forward");
  CHECK(demangle_cython("__pyx_pw_3pkg_3cyx_4py_outer") == "pkg.cyx.py_outer");
  CHECK(demangle_cython("__pyx_pw_3pkg_3cyx_6closure") == "pkg.cyx.closure");
  CHECK(demangle_cython("__pyx_pw_3pkg_3cyx_7closure_1inside") == "pkg.cyx.closure.inside");
  CHECK(demangle_cython("__pyx_gb_3pkg_3cyx_2generator") == "pkg.cyx.generator");
  CHECK(demangle_cython("__pyx_pf_3cyx_first") == "cyx.first");
  CHECK(demangle_cython("__pyx_pf_3cyx_5Model_first") == "cyx.Model.first");
  CHECK(demangle_cython("__pyx_pw_3cyx_2do_it") == "cyx.do_it");
  CHECK(demangle_cython("_ZL29__pyx_pw_3cyx_5Model_3forwardP7_objectPKS0_lS0_") ==
        "cyx.Model.forward");
  CHECK(demangle_cython("_Z14__pyx_f_3cyx_av") == "cyx.a");
  CHECK(short_name("_ZL18__pyx_pw_3cyx_1runP7_objectPKS0_lS0_") == "cyx.run");
  CHECK(short_name("__pyx_f_3cyx_cy_inner") == "cyx.cy_inner");
  CHECK(demangle("__pyx_f_3cyx_cy_inner") == "cyx.cy_inner");
}

TEST_CASE("what is no function of a module stays as it is") {
  for (const char* symbol :
       {"", "__pyx_", "__pyx_f_", "__pyx_f_3", "__pyx_f_3cyx", "__pyx_f_3cyx_", "__pyx_f_0_a",
        "__pyx_f_99999999999999999999_a", "__pyx_pw_3cyx_1", "__pyx_pymod_exec_cyx",
        "__Pyx_Generator_Next", "_ZL", "_Z", "_ZL99__pyx_f_3cyx_a", "_ZN3cyx1aEv", "_ZL3runv",
        "_ZL18446744073709551616__pyx_f_3cyx_a", "__pyx_f_18446744073709551615_a", "main"}) {
    CHECK_FALSE(demangle_cython(symbol));
  }
}

}  // namespace oddrank
