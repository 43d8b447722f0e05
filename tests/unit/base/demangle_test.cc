#include "base/names/demangle.h"

#include <string>

#include "tests/support/catch.h"

namespace oddrank {
namespace {

TEST_CASE("demangle: a mangled name becomes readable, others stay as they are") {
  CHECK(demangle("_ZN4gloo9transport3tcp4Loop3runEv") == "gloo::transport::tcp::Loop::run()");
  CHECK(demangle("_ZlsRSoRK1A") == "operator<<(std::ostream&, A const&)");
  CHECK(demangle("pthread_cond_wait").find("pthread_cond_wait") == 0);
  CHECK(demangle("<lambda>") == "<lambda>");
  CHECK(demangle("").empty());
}

TEST_CASE("demangle: a name that only looks mangled stays as it is") {
  for (const char* symbol : {"_Z", "_ZN", "_ZN99999999999999999999a", "_ZNNNNNN", "_ZGVdN4v_sin"}) {
    CAPTURE(symbol);
    CHECK(demangle(symbol) == symbol);
    CHECK(short_name(symbol) == symbol);
  }
  const std::string long_symbol = "_Z" + std::string(1 << 20, 'N');
  CHECK(demangle(long_symbol) == long_symbol);
  CHECK(short_name(long_symbol) == long_symbol);
}

struct Sample {
  const char* symbol;
  const char* name;
};

TEST_CASE("short_name: arguments, template arguments and return types are left out") {
  const Sample samples[] = {
      {"_ZN4c10d4Work4waitENSt6chrono8durationIlSt5ratioILl1ELl1000EEEE", "c10d::Work::wait"},
      {"_ZN4gloo9transport3tcp4Loop3runEv", "gloo::transport::tcp::Loop::run"},
      {"_ZSt9transformIPiS0_PFiiEET0_T_S4_S3_T1_", "std::transform<...>"},
      {"_Z3fooPFviE", "foo"},
      {"_ZN1A1fB5cxx11Ev", "A::f"},
      {"_ZThn8_N1A1fEv", "A::f"},
      {"_ZNK6fbgemm10PackMatrixINS_23PackAWithQuantRowOffsetIhiEEhiE13numPackedColsEv",
       "fbgemm::PackMatrix<...>::numPackedCols"},
      {"read", "read"},
      {"<module>", "<module>"},
      {"Loader.<locals>.run", "Loader.<locals>.run"},
  };
  for (const Sample& sample : samples) {
    CAPTURE(sample.symbol);
    CHECK(short_name(sample.symbol) == sample.name);
  }
}

TEST_CASE("short_name: operators keep their signs") {
  const Sample samples[] = {
      {"_ZN1AlsEi", "A::operator<<"},
      {"_ZN1AltERKS_", "A::operator<"},
      {"_ZN1AltIiEEbT_", "A::operator<<...>"},
      {"_ZNK1AclEi", "A::operator()"},
      {"_ZN1AptEv", "A::operator->"},
      {"_ZN1AixEm", "A::operator[]"},
      {"_ZN1AnwEm", "A::operator new"},
      {"_ZNK1AcvbEv", "A::operator bool"},
      {"_ZN1AcvT_IiEEv", "A::operator int<...>"},
      {"_Z1fIXadL_ZN1AltERKS0_EEEvv", "f<...>"},
      {"_ZN5torch3jit21add_to_operator_tableEv", "torch::jit::add_to_operator_table"},
  };
  for (const Sample& sample : samples) {
    CAPTURE(sample.symbol);
    CHECK(short_name(sample.symbol) == sample.name);
  }
}

TEST_CASE("short_name: a function's local entity keeps the name of the function") {
  CHECK(short_name("_ZZ4mainENKUlvE_clEv") == "main::{lambda#1}::operator()");
  CHECK(short_name("_ZZNK1A1fEiENKUlifE0_clEif") == "A::f::{lambda#2}::operator()");
  CHECK(short_name("_ZN12_GLOBAL__N_11fEv") == "(anonymous namespace)::f");
}

TEST_CASE("short_name: marks of the compiler's clones are left out") {
  CHECK(short_name("_ZN1A3fooEv.cold") == "A::foo");
  CHECK(short_name("_ZN1A3fooEi.isra.0") == "A::foo");
}

TEST_CASE("short_name: a name too long for the demangler still shows its scope") {
  const std::string deep(1500, 'P');
  CHECK(short_name("_ZN3c1012function_refI" + deep + "iEE4callEv") == "c10::function_ref<...>");
  CHECK(short_name("_ZZNSt17_Function_handlerI" + deep) == "std::_Function_handler<...>");
}

}  // namespace
}  // namespace oddrank
