# `cmake --install` and CPack: the program, its man pages and completions (which it writes itself), docs and
# scripts. scripts/package makes all packages.
include(GNUInstallDirs)

set(ODDRANK_LICENCES "" CACHE PATH "Folder with the licences of what is linked in, to be installed with it")
set(ODDRANK_MANUAL ${CMAKE_BINARY_DIR}/manual)

add_custom_command(OUTPUT ${ODDRANK_MANUAL}/written
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${ODDRANK_MANUAL}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${ODDRANK_MANUAL}/man1
  COMMAND oddrank man --into ${ODDRANK_MANUAL}/man1
  COMMAND sh -c "gzip -9n '${ODDRANK_MANUAL}'/man1/*.1"
  COMMAND oddrank completion bash > ${ODDRANK_MANUAL}/oddrank
  COMMAND oddrank completion zsh > ${ODDRANK_MANUAL}/_oddrank
  COMMAND oddrank completion fish > ${ODDRANK_MANUAL}/oddrank.fish
  COMMAND ${CMAKE_COMMAND} -E touch ${ODDRANK_MANUAL}/written
  DEPENDS oddrank VERBATIM)
add_custom_target(manual ALL DEPENDS ${ODDRANK_MANUAL}/written)

install(TARGETS oddrank RUNTIME)
install(DIRECTORY ${ODDRANK_MANUAL}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
# `kubectl oddrank`: the program acts as a plugin of kubectl by that name (cli/main.cc).
set(ODDRANK_PLUGIN ${CMAKE_BINARY_DIR}/plugin)
file(MAKE_DIRECTORY ${ODDRANK_PLUGIN})
file(CREATE_LINK oddrank ${ODDRANK_PLUGIN}/kubectl-oddrank SYMBOLIC)
file(CREATE_LINK oddrank-kube.1.gz ${ODDRANK_PLUGIN}/kubectl-oddrank.1.gz SYMBOLIC)
install(FILES ${ODDRANK_PLUGIN}/kubectl-oddrank DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${ODDRANK_PLUGIN}/kubectl-oddrank.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${ODDRANK_MANUAL}/oddrank DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${ODDRANK_MANUAL}/_oddrank DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
install(FILES ${ODDRANK_MANUAL}/oddrank.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR})
# The modes of the checkout depend on its umask. What has no interpreter is sourced.
file(GLOB ODDRANK_SCRIPTS CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/slurm/scripts/*)
foreach(script IN LISTS ODDRANK_SCRIPTS)
  file(STRINGS ${script} first_line LIMIT_COUNT 1)
  if(first_line MATCHES "^#!")
    install(PROGRAMS ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/oddrank/scripts)
  else()
    install(FILES ${script} DESTINATION ${CMAKE_INSTALL_DATADIR}/oddrank/scripts)
  endif()
endforeach()
install(DIRECTORY integrations DESTINATION ${CMAKE_INSTALL_DATADIR}/oddrank FILES_MATCHING PATTERN "*.py"
  PATTERN __pycache__ EXCLUDE)
if(ODDRANK_LICENCES)
  install(FILES ${ODDRANK_LICENCES}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(DIRECTORY ${ODDRANK_LICENCES}/licences DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(FILES ${ODDRANK_LICENCES}/oddrank.spdx.json ${ODDRANK_LICENCES}/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DOCDIR})
  install(FILES ${ODDRANK_LICENCES}/overrides DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides
    RENAME oddrank)
else()
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})
endif()

set(CPACK_PACKAGE_NAME oddrank)
set(CPACK_PACKAGE_VENDOR oddrank)
set(CPACK_PACKAGE_CONTACT "oddrank <oddrank@localhost>" CACHE STRING "Maintainer that packages name")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "names the rank that holds up a hung training job")
set(CPACK_PACKAGE_DESCRIPTION
"oddrank reads the stuck processes of a distributed training job, follows
the waits from rank to rank, and names the rank at the root, with the
chain of evidence. Nothing has to be prepared in the job.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_FILE_NAME oddrank-${PROJECT_VERSION}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_THREADS 0)

if(CMAKE_CROSSCOMPILING AND CMAKE_SYSTEM_PROCESSOR STREQUAL aarch64)
  set(CPACK_DEBIAN_PACKAGE_ARCHITECTURE arm64)  # CPack would take this machine's
  set(CPACK_RPM_PACKAGE_ARCHITECTURE aarch64)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS slurm-client)

set(CPACK_RPM_FILE_NAME RPM-DEFAULT)
set(CPACK_RPM_PACKAGE_LICENSE "Apache-2.0 AND MIT AND BSL-1.0 AND BSD-3-Clause AND LGPL-3.0-or-later AND LGPL-2.1-or-later AND Zlib")
set(CPACK_RPM_PACKAGE_DESCRIPTION "${CPACK_PACKAGE_DESCRIPTION}")  # else CPack's own words
set(CPACK_RPM_PACKAGE_SUMMARY "Names the rank that holds up a hung training job")
set(CPACK_RPM_PACKAGE_GROUP "System/Monitoring")
set(CPACK_RPM_PACKAGE_AUTOREQPROV OFF)  # one static program
set(CPACK_RPM_EXCLUDE_FROM_AUTO_FILELIST_ADDITION /usr/share/man /usr/share/man/man1 /usr/share/zsh
  /usr/share/zsh/site-functions /usr/share/fish /usr/share/fish/vendor_completions.d /usr/share/lintian
  /usr/share/lintian/overrides /usr/share/bash-completion /usr/share/bash-completion/completions)
# The same tree gives the same bytes (SOURCE_DATE_EPOCH is set by scripts/package).
set(CPACK_RPM_SPEC_MORE_DEFINE
"%define _buildhost oddrank
%define use_source_date_epoch_as_buildtime 1
%define clamp_mtime_to_source_date_epoch 1
%define _build_id_links none")
include(CPack)
