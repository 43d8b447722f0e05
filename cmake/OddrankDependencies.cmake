# Third-party libraries, all from Debian packages. Each is wrapped as an INTERFACE target here and
# used by one or two .cc files (CONTRIBUTING.md, "Third party").
find_package(CLI11 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
find_package(Boost 1.74 REQUIRED COMPONENTS filesystem)
find_package(PkgConfig REQUIRED)

# Result<T> is tl::expected; Debian's package puts the header into the default include path.
find_path(ODDRANK_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)

# Static archives first where the release links statically; the order of libdw's needs matters.
if(ODDRANK_STATIC)
  set(ODDRANK_PC_SUFFIX _STATIC)
  set(ODDRANK_LINK_STATIC -static)
endif()

function(oddrank_pkg target module)
  pkg_check_modules(PC_${module} REQUIRED ${module})
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${PC_${module}_INCLUDE_DIRS})
  target_link_libraries(${target} INTERFACE ${PC_${module}${ODDRANK_PC_SUFFIX}_LINK_LIBRARIES}
    ${PC_${module}${ODDRANK_PC_SUFFIX}_LDFLAGS})
endfunction()

oddrank_pkg(oddrank_libunwind libunwind-generic)
oddrank_pkg(oddrank_libdw libdw)
oddrank_pkg(oddrank_libelf libelf)
oddrank_pkg(oddrank_zstd libzstd)
oddrank_pkg(oddrank_zlib zlib)
