#include "base/names/demangle_rust.h"

#include <random>
#include <string>

#include "base/names/demangle.h"
#include "tests/support/catch.h"

namespace oddrank {
namespace {

struct RustSample {
  const char* symbol;
  const char* full;
  const char* brief;
};

// Symbols as rustc made them.
constexpr RustSample kSamples[] = {
    {"_ZN5serde2de7Visitor5visit17h0123456789abcdefE", "serde::de::Visitor::visit",
     "serde::de::Visitor::visit"},
    {"_ZN66_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..ops..drop..Drop$GT$4drop17h0123456789"
     "abcdefE",
     "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop",
     "<alloc::vec::Vec<T> as core::ops::drop::Drop>::drop"},
    {"_RNvNtCsgEmfK2I1SDS_4core3str4main", "core::str::main", "core::str::main"},
    {"_RINvMNtCsgEmfK2I1SDS_4core3stre18trim_start_matchesReECsgY6Mt91CT9J_14rustc_demangle",
     "<str>::trim_start_matches<&str>", "<str>::trim_start_matches<...>"},
    {"_RINvMNtCsgEmfK2I1SDS_4core5sliceSh11copy_withinINtNtNtB5_3ops5range14RangeInclusivejEECsf"
     "EOYDRpO4Ta_11miniz_oxide",
     "<[u8]>::copy_within<core::ops::range::RangeInclusive<usize>>", "<[u8]>::copy_within<...>"},
    {"_RNCNCNCNvNtCsjrHSEGnQ3l9_3std2rt19lang_start_internal00s_0B9_",
     "std::rt::lang_start_internal::{closure}::{closure}::{closure}",
     "std::rt::lang_start_internal::{closure}::{closure}::{closure}"},
    {"_RINvMs2_NtCsgEmfK2I1SDS_4core3fmtNtB6_9Arguments3newKjd_Kj4_ECs6xxl1lAjzDf_1a",
     "<core::fmt::Arguments>::new<13, 4>", "<core::fmt::Arguments>::new<...>"},
};

TEST_CASE("demangle_rust: both manglings, with generics and without") {
  for (const RustSample& sample : kSamples) {
    CAPTURE(sample.symbol);
    CHECK(demangle_rust(sample.symbol, true) == std::string(sample.full));
    CHECK(demangle_rust(sample.symbol, false) == std::string(sample.brief));
    CHECK(demangle(sample.symbol) == sample.full);
    CHECK(short_name(sample.symbol) == sample.brief);
  }
}

TEST_CASE("demangle_rust: names that are not Rust's stay as they are") {
  for (const char* symbol : {"_ZN4gloo9transport3tcp4Loop3runEv", "read", "_R", "_RN", "_Rx",
                             "_RNvC", "_RNvB_4main", "_RNvC99999999999999999999a", ""}) {
    CAPTURE(symbol);
    CHECK_FALSE(demangle_rust(symbol, true));
  }
  CHECK(short_name("_RNvC") == "_RNvC");
}

TEST_CASE("demangle_rust: damaged symbols terminate") {
  std::mt19937 random(7);  // NOLINT(cert-msc51-cpp): the same bytes each time
  static constexpr std::string_view kLetters = "BCNMXYIREsTFDLKSA_pnu0123456789abcdez";
  std::size_t read = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string symbol = kSamples[2 + static_cast<std::size_t>(round) % 5].symbol;
    for (int flips = 0; flips < 1 + round % 4; ++flips) {
      symbol[2 + random() % (symbol.size() - 2)] = kLetters[random() % kLetters.size()];
    }
    if (const auto name = demangle_rust(symbol, true)) {
      CHECK(name->size() < 20000);
      ++read;
    }
  }
  CHECK(read > 0);
  CHECK_FALSE(demangle_rust("_R" + std::string(15000, 'S'), true));
}

}  // namespace
}  // namespace oddrank
