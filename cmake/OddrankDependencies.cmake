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

# A static program begins and ends with gcc's object files for one that has no table of its frames: the
# first exception then sorts all of them, and even `--help` takes 2 ms longer. cmake/static_start.specs
# chooses those of other programs, and the linker is told to make the table.
if(ODDRANK_STATIC)
  set(ODDRANK_LINK_STATIC -static -Wl,--gc-sections)
  # So that the linker can leave out single functions.
  add_compile_options(-ffunction-sections -fdata-sections)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND ODDRANK_LINK_STATIC -specs=${PROJECT_SOURCE_DIR}/cmake/static_start.specs
      -Wl,--eh-frame-hdr)
  endif()
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    list(APPEND ODDRANK_LINK_STATIC -s)
  endif()
endif()

# Debian's libfmt has no static archive, so a static build compiles fmt's own source once. (The
# header-only form of fmt would cost the compiler six seconds in every file.)
if(ODDRANK_STATIC)
  add_library(oddrank_fmt STATIC ${PROJECT_SOURCE_DIR}/cmake/compiled_fmt.cc)
  get_target_property(ODDRANK_FMT_INCLUDE fmt::fmt INTERFACE_INCLUDE_DIRECTORIES)
  target_include_directories(oddrank_fmt SYSTEM PUBLIC ${ODDRANK_FMT_INCLUDE})
else()
  add_library(oddrank_fmt ALIAS fmt::fmt)
endif()

# oddrank_pkg(TARGET MODULE): makes an INTERFACE target from pkg-config. With ODDRANK_STATIC it includes
# everything that the archives need in turn.
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
oddrank_pkg(oddrank_libmd libmd)

# Only the part of libdw that reads DWARF. The libraries that its pkg-config file adds (bzip2, lzma)
# are for libdwfl.
pkg_check_modules(PC_libdw REQUIRED libdw)
add_library(oddrank_libdw INTERFACE)
target_include_directories(oddrank_libdw SYSTEM INTERFACE ${PC_libdw_INCLUDE_DIRS})
if(ODDRANK_STATIC)
  target_link_libraries(oddrank_libdw INTERFACE dw elf z)
else()
  target_link_libraries(oddrank_libdw INTERFACE ${PC_libdw_LINK_LIBRARIES})
endif()

# libunwind.a defines _Unwind_Resume and similar functions again. Our own exceptions need those of
# libgcc_eh, so it must come first.
pkg_check_modules(PC_libunwind REQUIRED libunwind-generic)
add_library(oddrank_libunwind INTERFACE)
target_include_directories(oddrank_libunwind SYSTEM INTERFACE ${PC_libunwind_INCLUDE_DIRS})
if(ODDRANK_STATIC)
  target_link_libraries(oddrank_libunwind INTERFACE unwind-${ODDRANK_MACHINE} gcc_eh unwind lzma z)
else()
  target_link_libraries(oddrank_libunwind INTERFACE ${PC_libunwind_LINK_LIBRARIES})
endif()
