# Third-party libraries, all from Debian packages. Each is wrapped as an INTERFACE target here and
# used by one or two .cc files (CONTRIBUTING.md, "Third party").
find_package(CLI11 REQUIRED)
find_package(Threads REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(fmt REQUIRED)
set(Boost_USE_STATIC_LIBS ${ODDRANK_STATIC})
find_package(Boost 1.74 REQUIRED COMPONENTS filesystem)
find_package(PkgConfig REQUIRED)

# Result<T> is tl::expected; Debian's package puts the header into the default include path.
find_path(ODDRANK_EXPECTED_INCLUDE tl/expected.hpp REQUIRED)

if(ODDRANK_STATIC)
  set(ODDRANK_LINK_STATIC -static)
endif()

# Debian's libfmt has no static archive: what is linked statically brings the compiled part of it
# along. (fmt's header-only form would cost the compiler six seconds in every file.)
if(ODDRANK_STATIC)
  add_library(oddrank_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/compiled_fmt.cc)
  get_target_property(ODDRANK_FMT_INCLUDE fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(oddrank_fmt SYSTEM PUBLIC ${ODDRANK_FMT_INCLUDE})
else()
  add_library(oddrank_fmt ALIAS fmt::fmt)
endif()

# oddrank_pkg(TARGET MODULE): an INTERFACE target from pkg-config; with ODDRANK_STATIC with all that
# its archives need in turn.
function(oddrank_pkg target module)
  pkg_check_modules(PC_${module} REQUIRED ${module})
  add_library(${target} INTERFACE)
  target_include_directories(${target} SYSTEM INTERFACE ${PC_${module}_INCLUDE_DIRS})
  if(ODDRANK_STATIC)
    target_link_libraries(${target} INTERFACE ${PC_${module}_STATIC_LDFLAGS})
  else()
    target_link_libraries(${target} INTERFACE ${PC_${module}_LINK_LIBRARIES})
  endif()
endfunction()

oddrank_pkg(oddrank_libelf libelf)
oddrank_pkg(oddrank_zstd libzstd)
oddrank_pkg(oddrank_zlib zlib)

# Of libdw only what reads DWARF: what its pkg-config file adds (bzip2, lzma) is for libdwfl.
pkg_check_modules(PC_libdw REQUIRED libdw)
add_library(oddrank_libdw INTERFACE)
target_include_directories(oddrank_libdw SYSTEM INTERFACE ${PC_libdw_INCLUDE_DIRS})
if(ODDRANK_STATIC)
  target_link_libraries(oddrank_libdw INTERFACE dw elf z)
else()
  target_link_libraries(oddrank_libdw INTERFACE ${PC_libdw_LINK_LIBRARIES})
endif()

# libunwind.a defines _Unwind_Resume and its like once more; libgcc_eh, which our own exceptions use,
# must come first, so that those are taken from there.
pkg_check_modules(PC_libunwind REQUIRED libunwind-generic)
add_library(oddrank_libunwind INTERFACE)
target_include_directories(oddrank_libunwind SYSTEM INTERFACE ${PC_libunwind_INCLUDE_DIRS})
if(ODDRANK_STATIC)
  target_link_libraries(oddrank_libunwind INTERFACE unwind-x86_64 gcc_eh unwind lzma z)
else()
  target_link_libraries(oddrank_libunwind INTERFACE ${PC_libunwind_LINK_LIBRARIES})
endif()
