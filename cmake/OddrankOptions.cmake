# Warnings, sanitizers and linking, in one INTERFACE target that every room links privately.
add_library(oddrank_options INTERFACE)
target_include_directories(oddrank_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(oddrank_options INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wnon-virtual-dtor -Woverloaded-virtual
  -Wcast-align -Wnull-dereference -Wimplicit-fallthrough
  $<$<BOOL:${ODDRANK_WERROR}>:-Werror>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 sees null dereferences, dangling strings and (at -O3) uninitialized optionals inside libstdc++ that are not there.
  target_compile_options(oddrank_options INTERFACE -Wno-null-dereference -Wno-restrict
    -Wno-maybe-uninitialized)
endif()
if(ODDRANK_SANITIZE)
  target_compile_options(oddrank_options INTERFACE
    -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(oddrank_options INTERFACE -fsanitize=address,undefined)
endif()

# Headers that nearly every file includes, parsed once (ODDRANK_PCH; clang only, whose precompiled
# headers ccache can tell apart). The other builds show that each file includes what it needs.
function(oddrank_precompile library)
  if(ODDRANK_PCH)
    add_library(${library} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
    target_link_libraries(${library} PRIVATE oddrank_options oddrank_fmt)
    target_compile_options(${library} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(${library} PRIVATE ${ARGN})
  endif()
endfunction()
function(oddrank_use_precompiled target library)
  if(ODDRANK_PCH)
    target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
    target_precompile_headers(${target} REUSE_FROM ${library})
  endif()
endfunction()

# oddrank_room(NAME SOURCES file... LINK lib...): the static library oddrank_NAME.
function(oddrank_room name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PRIVATE_LINK" ${ARGN})
  if(NOT ARG_SOURCES)
    add_library(oddrank_${name} INTERFACE)
    return()
  endif()
  add_library(oddrank_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(oddrank_${name} PUBLIC oddrank_options ${ARG_LINK}
    PRIVATE ${ARG_PRIVATE_LINK})
  oddrank_use_precompiled(oddrank_${name} oddrank_precompiled)
endfunction()
