# The machine that the program is for, as sources in folders named "machine" are.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(ODDRANK_MACHINE aarch64)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  set(ODDRANK_MACHINE x86_64)
else()
  message(FATAL_ERROR "oddrank reads processes of x86-64 and aarch64 only, not of ${CMAKE_SYSTEM_PROCESSOR}")
endif()

# Warnings, sanitizers and linking, in one INTERFACE target that every room links privately.
add_library(oddrank_options INTERFACE)
target_include_directories(oddrank_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(oddrank_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wcast-align -Wnull-dereference -Wimplicit-fallthrough
  $<$<BOOL:${ODDRANK_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 warns of null dereferences, dangling strings and (optimizing) uninitialized optionals inside
  # libstdc++ that do not exist; with precompiled headers, also of overflows of strings.
  target_compile_options(oddrank_options INTERFACE -Wno-null-dereference -Wno-restrict
    -Wno-maybe-uninitialized
    "$<$<BOOL:${ODDRANK_PCH}>:-Wno-array-bounds;-Wno-stringop-overflow;-Wno-stringop-overread>")
endif()
if(ODDRANK_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ takes the sources that a unity file includes for headers, whose types must not have members of
  # anonymous types. The dev build, which compiles each source alone, has the warning.
  target_compile_options(oddrank_options INTERFACE -Wno-subobject-linkage)
endif()
if(ODDRANK_SANITIZE)
  target_compile_options(oddrank_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(oddrank_options INTERFACE -fsanitize=address,undefined)
endif()
if(ODDRANK_FUZZ)
  target_compile_options(oddrank_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
# There are many debug programs, and they are large; lld links them in a quarter of ld's time. A cross
# compiler looks for a linker of its own.
find_program(ODDRANK_LLD ld.lld)
if(ODDRANK_LLD AND NOT CMAKE_CROSSCOMPILING)
  target_link_options(oddrank_options INTERFACE $<$<CONFIG:Debug>:-fuse-ld=lld>)
endif()

# oddrank_precompile(LIBRARY HEADERS header... LINK lib...): if ODDRANK_PCH is on, these headers and the
# ones that nearly every file includes are parsed only once, which saves a quarter of the time. clang-tidy
# does not use precompiled headers, and so shows that each file includes what it needs.
function(oddrank_precompile library)
  cmake_parse_arguments(ARG "" "" "HEADERS;LINK" ${ARGN})
  if(ODDRANK_PCH)
    add_library(${library} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
    target_link_libraries(${library} PRIVATE oddrank_options ${ARG_LINK})
    oddrank_pch_options(${library})
    target_precompile_headers(${library} PRIVATE <algorithm> <array> <chrono> <cstdint> <functional>
      <map> <memory> <optional> <set> <span> <string> <string_view> <unordered_map> <utility>
      <vector> ${ARG_HEADERS})
  endif()
endfunction()
function(oddrank_use_precompiled target library)
  if(TARGET ${library})
    oddrank_pch_options(${target})
    target_precompile_headers(${target} REUSE_FROM ${library})
  endif()
endfunction()
# A time stamp in a precompiled header would make ccache miss every file that uses it.
function(oddrank_pch_options target)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  endif()
endfunction()

# oddrank_unity(TARGET): if ODDRANK_UNITY is on, several sources of the target are compiled as one file: the
# headers, which most of the time goes into, are then parsed once for all of them. Names in anonymous
# namespaces are unique within a room for this reason (CONTRIBUTING.md, "Names").
function(oddrank_unity target)
  if(ODDRANK_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
  endif()
endfunction()

# oddrank_room(NAME SOURCES file... LINK lib...): adds the static library oddrank_NAME.
function(oddrank_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    add_library(oddrank_${name} INTERFACE)
    return()
  endif()
  add_library(oddrank_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(oddrank_${name} PUBLIC oddrank_options ${ARG_LINK}
    PRIVATE ${ARG_PRIVATE_LINK})
  oddrank_unity(oddrank_${name})
  if("oddrank_fmt" IN_LIST ARG_PRIVATE_LINK)
    oddrank_use_precompiled(oddrank_${name} oddrank_precompiled_fmt)
  else()
    oddrank_use_precompiled(oddrank_${name} oddrank_precompiled)
  endif()
endfunction()
