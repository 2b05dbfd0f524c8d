// The memory of a device: L2 slices, DRAM channels, and the links between them.
#include "assembly_devices.hpp"

namespace farfault::topologies {

Assembly::Memory Assembly::build_memory(std::uint32_t node, std::string const& name,
                                        std::string const& slice_name, L2SliceSpec slice,
                                        DramChannelSpec dram, MemoryLayout const& layout) {
  Memory memory;
  // What a bank holds is in one group: its links are short.
  auto const group_of = [&](std::uint32_t bank) { return kSmGroups + bank * kMemoryGroups / layout.banks(); };
  slice.memory = layout.slice_map();
  slice.channels = layout.channel_map();
  slice.channel_shift = layout.bank_bits();
  slice.dram_channels = layout.channels_a_slice();
  slice.dram_credits = dram.params.queue / layout.slices_a_channel();
  for (std::uint32_t i = 0; i < layout.slices; ++i) {
    begin_group(node, group_of(layout.bank_of_slice(i)));
    slice.index = i;
    slice.dram_port = static_cast<std::uint16_t>(layout.number_at_channel(i));
    memory.slices.push_back(&system_->add<L2Slice>(name + '.' + slice_name + std::to_string(i), slice));
  }
  dram.memory = layout.channel_map();
  for (std::uint32_t i = 0; i < layout.channels; ++i) {
    begin_group(node, group_of(layout.bank_of_channel(i)));
    memory.channels.push_back(&system_->add<DramChannel>(name + ".dram" + std::to_string(i), dram));
  }
  return memory;
}

void Assembly::wire_memory(Memory& memory, MemoryLayout const& layout, Latency cycle) {
  for (std::uint32_t bank = 0; bank < layout.banks(); ++bank) {
    std::vector<In<MemResponse>> filled;
    std::vector<In<MemRequest>> channels;
    for (std::uint32_t i = 0; i < layout.slices_a_channel(); ++i)
      filled.push_back(memory.slices[bank * layout.slices_a_channel() + i]->filled);
    for (auto c = bank; c < layout.channels; c += layout.banks())
      channels.push_back(memory.channels[c]->request);
    auto const to_slices = system_->family(filled);
    auto const to_channels = system_->family(channels);
    for (std::uint32_t i = 0; i < layout.slices_a_channel(); ++i)
      system_->connect(memory.slices[bank * layout.slices_a_channel() + i]->dram, to_channels, cycle);
    for (auto c = bank; c < layout.channels; c += layout.banks())
      system_->connect(memory.channels[c]->response, to_slices, cycle);
  }
}

}  // namespace farfault::topologies
