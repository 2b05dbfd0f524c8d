// SPDX-License-Identifier: Apache-2.0
// XML for the importers: parsing with limits, and attributes with clear errors.
//
// Guarantees: entities of a document type are never expanded; a document with more than 4 million tags and
// attributes, or with nesting deeper than 64 elements in the parts that an importer reads, is refused.
#pragma once

#include <cstdint>
#include <pugixml.hpp>
#include <string>
#include <string_view>

namespace farfault::topologies {

inline constexpr int kDeepestXml = 64;

// The name of the root element, or empty if the text does not begin like XML.
std::string_view xml_root_name(std::string_view text);

void parse_xml(pugi::xml_document& document, std::string_view text, std::string const& where);

// An attribute that must be a whole number within limits; `fallback` if it is missing or empty.
std::uint64_t xml_number(pugi::xml_node node, char const* attribute, std::uint64_t fallback,
                         std::uint64_t most, std::string const& where);

void check_depth(int depth, std::string const& where);

}  // namespace farfault::topologies
