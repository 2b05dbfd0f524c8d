# SPDX-License-Identifier: Apache-2.0
# Writes the commit of the source to OUTPUT, a header; an unchanged header is not rewritten.
#  cmake -DSOURCE=... -DOUTPUT=... -P commit.cmake
cmake_minimum_required(VERSION 3.25)
set(commit "unknown")
find_package(Git 2.0 QUIET)
if(GIT_FOUND)
  execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} rev-parse --verify HEAD
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    execute_process(COMMAND ${GIT_EXECUTABLE} -C ${SOURCE} diff --quiet HEAD -- OUTPUT_QUIET ERROR_QUIET
      RESULT_VARIABLE changed)
    set(commit "${head}")
    if(changed)
      string(APPEND commit " with changes")
    endif()
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define FARFAULT_COMMIT \"@commit@\"\n" @ONLY)
