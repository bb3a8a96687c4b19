# CUPEL_REVISION: the commit that is built. In a checkout git says it, at configure time; in an
# archive the file REVISION does, which `git archive` fills in (.gitattributes).
set(CUPEL_REVISION "")
if(EXISTS ${PROJECT_SOURCE_DIR}/.git)
  execute_process(COMMAND git -C ${PROJECT_SOURCE_DIR} rev-parse --short=12 HEAD
                  OUTPUT_VARIABLE CUPEL_REVISION OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
endif()
if(CUPEL_REVISION STREQUAL "" AND EXISTS ${PROJECT_SOURCE_DIR}/REVISION)
  file(STRINGS ${PROJECT_SOURCE_DIR}/REVISION CUPEL_REVISION LIMIT_COUNT 1)
endif()
if(NOT CUPEL_REVISION MATCHES "^[0-9a-f]+$")
  set(CUPEL_REVISION "v${PROJECT_VERSION}")
endif()
