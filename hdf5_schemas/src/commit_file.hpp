// SPDX-License-Identifier: Apache-2.0
// The file below HDF5: changes reach it in commits.
//
// HDF5 writes its tree of metadata in place, so a process killed in the middle leaves a file that cannot be
// opened. Here whatever lies below the end of the last commit is changed in memory only, and what lies beyond
// it is written at once but is not yet referred to. commit() then changes the old part in an order in which
// nothing refers to what is not there yet: the end of the file, data, heaps, trees, object headers. Each of
// them changes whole or not at all: what is changed in place lies within one page of 4 KiB, unless it is
// larger, which no header or tree of a result is.
//
// A failed write is remembered, never reported to HDF5, which cannot cope with a disk that fills up: from
// then on everything stays in memory until HDF5 has closed the file, and commit() throws.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "farfault/engine/files.hpp"
#include "handle.hpp"

namespace farfault::results {

class CommitFile {
 public:
  // Creates or empties `path`, and locks it. Throws UserError when it cannot be written, another process is
  // writing it, or it is a link.
  explicit CommitFile(std::string path);
  CommitFile(CommitFile const&) = delete;
  CommitFile& operator=(CommitFile const&) = delete;

  // A file access property list under which H5Fcreate writes into this object.
  Handle access_list();

  void commit();  // call after H5Fflush or H5Fclose; throws RunError
  bool failed() const { return error_ != 0; }
  std::string failure() const;

  // Gives a block back that HDF5 no longer uses; it is handed out again after the next commit.
  void release(std::uint64_t address, std::uint64_t size);

  void rename_to(std::string const& path);  // and goes on writing under that name

  // What the driver calls.
  std::uint64_t allocate(std::uint64_t size, bool raw_data);
  void write(int rank, std::uint64_t address, std::uint64_t size, unsigned char const* data);
  bool read(std::uint64_t address, std::uint64_t size, unsigned char* data);
  std::uint64_t end_of_allocation() const { return end_; }
  void end_of_allocation(std::uint64_t end) { end_ = end; }
  std::uint64_t end_of_file() const { return written_end_; }

 private:
  struct Piece {
    int rank;
    std::vector<unsigned char> bytes;
  };
  void keep(int rank, std::uint64_t address, std::uint64_t size, unsigned char const* data);
  void write_through(std::uint64_t address, std::uint64_t size, unsigned char const* data);

  std::string path_;
  FileHandle file_;
  int error_ = 0;
  std::uint64_t end_ = 0;          // of what HDF5 has allocated
  std::uint64_t written_end_ = 0;  // of what has been written, here or in memory
  std::uint64_t committed_ = 0;    // what lies below is changed by commit() only
  std::map<std::uint64_t, Piece> pieces_;
  std::map<std::uint64_t, std::uint64_t> released_, free_;  // address -> size
};

}  // namespace farfault::results
