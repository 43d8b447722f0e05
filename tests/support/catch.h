// Includes Catch2 v2 (Debian 12) or v3 (Debian 13), and skips tests in both.
#pragma once

#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif

#include <iostream>

// Ends the test case as skipped, with a reason that a person can act on. CI fails on a skip that
// it does not expect. For use in the body of a TEST_CASE only.
#define ODDRANK_SKIP(reason)                                \
  do {                                                      \
    std::cout << "ODDRANK_SKIP: " << (reason) << std::endl; \
    return;                                                 \
  } while (false)
