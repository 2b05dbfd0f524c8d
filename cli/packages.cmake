# SPDX-License-Identifier: Apache-2.0
# Installs everything except the program, its libraries and their headers. `cpack -G DEB` creates packages of the
# complete installation in packages/ of the build folder: farfault, libfarfault-dev, python3-farfault.
set(FARFAULT_PYTHON_FOLDER lib/python3/dist-packages CACHE STRING
  "Installation path of the Python package, relative to the prefix. Empty: not installed")
set(FARFAULT_MAINTAINER "The Farfault authors <maintainers@farfault.invalid>" CACHE STRING
  "Maintainer of the packages: Name <address>")

# Every Debian package contains its licence.
foreach(package program:farfault development:libfarfault-dev python:python3-farfault)
  string(REPLACE ":" ";" package ${package})
  list(GET package 0 component)
  list(GET package 1 name)
  install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name} COMPONENT ${component} RENAME copyright)
endforeach()
set(documents ${CMAKE_INSTALL_DATADIR}/doc)
install(FILES README.md CHANGELOG.md CITATION.cff DESTINATION ${documents}/farfault COMPONENT program)
install(FILES bench/demo.toml bench/placements.toml DESTINATION ${documents}/farfault/examples COMPONENT program)
install(DIRECTORY bench/slurm DESTINATION ${documents}/farfault/examples USE_SOURCE_PERMISSIONS
  COMPONENT program)
# The handbook. An installation without it states so, instead of lacking a folder silently.
set(FARFAULT_HANDBOOK ${PROJECT_SOURCE_DIR}/build/docs/html CACHE PATH
  "Handbook to install, the folder html that docs/build writes. Empty: not installed")
if(FARFAULT_HANDBOOK)
  install(CODE "
    if(NOT EXISTS \"${FARFAULT_HANDBOOK}/index.html\")
      message(WARNING \"the handbook is not installed: ${FARFAULT_HANDBOOK}/index.html is missing; docs/build writes it\")
    endif()" COMPONENT program)
  install(DIRECTORY ${FARFAULT_HANDBOOK}/ DESTINATION ${documents}/farfault/html COMPONENT program OPTIONAL
    PATTERN .buildinfo EXCLUDE)
endif()
install(DIRECTORY tests/extension/one_policy DESTINATION ${documents}/libfarfault-dev/examples
  COMPONENT development)
if(FARFAULT_PYTHON_FOLDER)
  install(DIRECTORY hdf5_schemas/python/farfault DESTINATION ${FARFAULT_PYTHON_FOLDER} COMPONENT python
    PATTERN __pycache__ EXCLUDE)
  install(FILES hdf5_schemas/python/README.md DESTINATION ${documents}/python3-farfault COMPONENT python)
  install(FILES hdf5_schemas/python/tutorial.py DESTINATION ${documents}/python3-farfault/examples
    COMPONENT python)
endif()

# Shell completion, written by the installed program.
if(NOT CMAKE_CROSSCOMPILING)
  set(scripts ${CMAKE_BINARY_DIR}/completion)
  file(MAKE_DIRECTORY ${scripts})
  foreach(shell bash zsh fish)
    install(CODE "execute_process(COMMAND \"$<TARGET_FILE:farfault>\" completion ${shell}
      OUTPUT_FILE \"${scripts}/${shell}\" COMMAND_ERROR_IS_FATAL ANY)" COMPONENT program)
  endforeach()
  install(FILES ${scripts}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions
    COMPONENT program RENAME farfault)
  install(FILES ${scripts}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
    COMPONENT program RENAME _farfault)
  install(FILES ${scripts}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
    COMPONENT program RENAME farfault.fish)
endif()

# CMake strips only programs.
install(CODE "
  if(CMAKE_INSTALL_DO_STRIP)
    file(GLOB archives \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}/libfarfault_*.a\")
    execute_process(COMMAND \"${CMAKE_STRIP}\" -g \${archives} COMMAND_ERROR_IS_FATAL ANY)
  endif()" COMPONENT development)

set(CPACK_PACKAGE_NAME farfault)
set(CPACK_PACKAGE_VENDOR Farfault)
set(CPACK_PACKAGE_CONTACT ${FARFAULT_MAINTAINER})
set(CPACK_RESOURCE_FILE_LICENSE ${PROJECT_SOURCE_DIR}/LICENSE)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_BINARY_DIR}/packages)
set(CPACK_STRIP_FILES ON)
set(CPACK_GENERATOR DEB)
set(CPACK_COMPONENTS_ALL program development python)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME farfault)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "simulator of the virtual memory of machines with many GPUs
Farfault simulates TLBs, page-table walks, page placement, page migration and
demand paging of machines from one GPU to a thousand, as a parallel
discrete-event simulation on threads and MPI ranks. Results are HDF5 files and
bit-identical for any number of threads and ranks.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SUGGESTS "python3-farfault, hdf5-tools, slurm-client")
if(FARFAULT_MPI AND MPI_C_FOUND)
  set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS openmpi-bin)
endif()

# Dependencies of farfaultConfig.cmake.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libfarfault-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(hdf5_package libhdf5-dev)
if(HDF5_IS_PARALLEL)
  set(hdf5_package libhdf5-openmpi-dev)
endif()
set(mpi_package "")
if(farfault_uses_mpi)
  set(mpi_package "libopenmpi-dev, ")
endif()
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "${mpi_package}${hdf5_package}, libfmt-dev, liblzma-dev, \
libpugixml-dev, libscotch-dev, libspdlog-dev, libtbb-dev, libyaml-cpp-dev, zlib1g-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "cmake, g++")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "simulator of machines with many GPUs - libraries and headers
Static libraries, headers and CMake package (find_package(farfault)) for
programs that add policies, workloads, components or machine file formats to
Farfault.")

set(CPACK_DEBIAN_PYTHON_PACKAGE_NAME python3-farfault)
set(CPACK_DEBIAN_PYTHON_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_PACKAGE_ARCHITECTURE all)
set(CPACK_DEBIAN_PYTHON_PACKAGE_DEPENDS
  "python3 (>= 3.11), python3-h5py, python3-numpy, python3-pandas, python3-xarray")
set(CPACK_DEBIAN_PYTHON_PACKAGE_RECOMMENDS python3-matplotlib)
set(CPACK_COMPONENT_PYTHON_DESCRIPTION "results of the simulator Farfault as xarray and pandas data
Opens results of runs and sweeps of Farfault: time series as xarray datasets,
tables and totals as pandas tables, with units; plots them.")
include(CPack)
