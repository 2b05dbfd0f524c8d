# SPDX-License-Identifier: Apache-2.0
# Writes OUTPUT, a C++ file that defines FUNCTION: the texts of the files of INPUTS, named without .toml.
set(entries "")
foreach(file IN LISTS INPUTS)
  get_filename_component(name ${file} NAME_WLE)
  file(READ ${file} text)
  string(APPEND entries "    {\"${name}\", R\"preset(${text})preset\"},\n")
endforeach()
file(WRITE ${OUTPUT} "#include \"preset_texts.hpp\"\n\nnamespace farfault::topologies {\n\n"
  "std::vector<PresetText> const& ${FUNCTION}() {\n"
  "  static std::vector<PresetText> const texts = {\n${entries}  };\n  return texts;\n}\n\n"
  "}  // namespace farfault::topologies\n")
