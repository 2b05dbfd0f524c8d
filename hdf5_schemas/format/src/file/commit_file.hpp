// SPDX-License-Identifier: Apache-2.0
// The file driver below HDF5: changes reach the file in commits.
//
// HDF5 changes its metadata tree in place, so a kill in the middle leaves an unreadable file. CommitFile
// keeps changes below the end of the last commit in memory. It writes data beyond that end immediately,
// because nothing refers to it yet. commit() then changes the old part in an order in which nothing refers to
// missing data: end of file, data, heaps, trees, object headers. Each block changes as a whole or not at all,
// because it is within one page of 4 KiB (all headers and trees of a result are smaller).
//
// A failed write is recorded but not reported to HDF5, which cannot handle a full disk. From then on
// everything stays in memory until HDF5 has closed the file, and commit() throws.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "farfault/engine/files.hpp"
#include "farfault/results/reading/handle.hpp"

namespace farfault::results {

class CommitFile {
 public:
  // Creates or truncates `path`, and locks it. Throws UserError if it is not writable, is a link, or is being
  // written by another process.
  explicit CommitFile(std::string path);
  CommitFile(CommitFile const&) = delete;
  CommitFile& operator=(CommitFile const&) = delete;

  // A file access property list with which H5Fcreate writes to this object.
  Handle access_list();

  void commit();  // call after H5Fflush or H5Fclose; throws RunError
  bool failed() const { return error_ != 0; }
  std::string failure() const;

  // Returns a block that HDF5 no longer uses. It may be allocated again after the next commit.
  void release(std::uint64_t address, std::uint64_t size);

  void rename_to(std::string const& path);  // keeps writing under that name

  // Called by the driver.
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
  std::uint64_t end_ = 0;          // of the space allocated by HDF5
  std::uint64_t written_end_ = 0;  // of the data written, to the file or to memory
  std::uint64_t committed_ = 0;    // only commit() changes the file below this address
  std::map<std::uint64_t, Piece> pieces_;
  std::map<std::uint64_t, std::uint64_t> released_, free_;  // address -> size
};

}  // namespace farfault::results
