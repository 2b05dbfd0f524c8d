// SPDX-License-Identifier: Apache-2.0
#include "commit_file.hpp"

#include <hdf5.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "farfault/engine/error.hpp"

namespace farfault::results {
namespace {

// A killed process may stop a write between two pages, never within one.
constexpr std::uint64_t kPageBytes = 4096;
constexpr std::uint64_t kGrowth = 1024;  // more than a header grows after its creation

// The first address from `address` on at which a block of up to one page does not cross a page boundary.
std::uint64_t within_a_page(std::uint64_t address, std::uint64_t size) {
  auto const left = kPageBytes - address % kPageBytes;
  return size > left && size <= kPageBytes ? address + left : address;
}

struct OpenFile {
  H5FD_t base;
  CommitFile* file;
};
struct AccessInfo {
  CommitFile* file;
};

CommitFile& file_of(H5FD_t const* f) {
  return *reinterpret_cast<OpenFile const*>(f)->file;
}

// The order in which commit() changes the old part of the file.
int rank_of(H5FD_mem_t type, unsigned char const* data, std::size_t size) {
  // The chunk index of a growing dataset: HDF5 classifies its header and first block as object headers.
  std::string_view const signature(reinterpret_cast<char const*>(data), std::min<std::size_t>(size, 4));
  if (signature == "EAHD" || signature == "EAIB") return 4;
  switch (type) {
    case H5FD_MEM_SUPER:
      return 0;
    case H5FD_MEM_DRAW:
      return 1;
    case H5FD_MEM_GHEAP:
      return 2;
    case H5FD_MEM_LHEAP:
      return 3;
    case H5FD_MEM_BTREE:
      return 4;
    default:
      return 5;
  }
}

H5FD_t* driver_open(char const*, unsigned, hid_t access, haddr_t) {
  auto const* info = static_cast<AccessInfo const*>(H5Pget_driver_info(access));
  if (info == nullptr) return nullptr;
  auto* open_file = new OpenFile{};
  open_file->file = info->file;
  return &open_file->base;
}

herr_t driver_close(H5FD_t* f) {
  delete reinterpret_cast<OpenFile*>(f);
  return 0;
}

herr_t driver_query(H5FD_t const*, unsigned long* flags) {
  if (flags != nullptr) *flags = H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t driver_alloc(H5FD_t* f, H5FD_mem_t type, hid_t, hsize_t size) {
  return file_of(f).allocate(size, type == H5FD_MEM_DRAW);
}

// CommitFile::release frees blocks, because it knows when they may be reused.
herr_t driver_free(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, hsize_t) {
  return 0;
}

haddr_t driver_get_eoa(H5FD_t const* f, H5FD_mem_t) {
  return file_of(f).end_of_allocation();
}

herr_t driver_set_eoa(H5FD_t* f, H5FD_mem_t, haddr_t end) {
  file_of(f).end_of_allocation(end);
  return 0;
}

haddr_t driver_get_eof(H5FD_t const* f, H5FD_mem_t) {
  return file_of(f).end_of_file();
}

herr_t driver_read(H5FD_t* f, H5FD_mem_t, hid_t, haddr_t address, size_t size, void* data) {
  return file_of(f).read(address, size, static_cast<unsigned char*>(data)) ? 0 : -1;
}

herr_t driver_write(H5FD_t* f, H5FD_mem_t type, hid_t, haddr_t address, size_t size, void const* data) {
  file_of(f).write(rank_of(type, static_cast<unsigned char const*>(data), size), address, size,
                   static_cast<unsigned char const*>(data));
  return 0;
}

hid_t register_driver() {
  H5FD_class_t driver{};
#if H5_VERSION_GE(1, 13, 0)
  driver.version = H5FD_CLASS_VERSION;
  driver.value = static_cast<H5FD_class_value_t>(600);
#endif
  driver.name = "farfault_commit";
  driver.maxaddr = (haddr_t{1} << 62) - 1;
  driver.fc_degree = H5F_CLOSE_STRONG;
  driver.fapl_size = sizeof(AccessInfo);
  driver.open = driver_open;
  driver.close = driver_close;
  driver.query = driver_query;
  driver.alloc = driver_alloc;
  driver.free = driver_free;
  driver.get_eoa = driver_get_eoa;
  driver.set_eoa = driver_set_eoa;
  driver.get_eof = driver_get_eof;
  driver.read = driver_read;
  driver.write = driver_write;
  std::fill(std::begin(driver.fl_map), std::end(driver.fl_map), H5FD_MEM_DEFAULT);
  return H5FDregister(&driver);
}

}  // namespace

CommitFile::CommitFile(std::string path) : path_(std::move(path)), file_(create_locked(path_)) {}

Handle CommitFile::access_list() {
  static hid_t const driver = register_driver();
  Handle list(H5Pcreate(H5P_FILE_ACCESS), "cannot set file access properties");
  AccessInfo const info{this};
  check(H5Pset_driver(list, driver, &info), "cannot set the file driver");
  check(H5Pset_fclose_degree(list, H5F_CLOSE_STRONG), "cannot set the close degree");
  return list;
}

std::string CommitFile::failure() const {
  return "cannot write '" + path_ + "': " + std::strerror(error_);
}

std::uint64_t CommitFile::allocate(std::uint64_t size, bool raw_data) {
  // Metadata must not be placed in the old part, where commit() could write a reference to it before the
  // block itself.
  auto best = free_.end();
  for (auto it = raw_data ? free_.begin() : free_.lower_bound(committed_); it != free_.end(); ++it)
    if (within_a_page(it->first, size) + size <= it->first + it->second &&
        (best == free_.end() || it->second < best->second))
      best = it;
  if (best != free_.end()) {
    auto const [hole, length] = *best;
    auto const address = within_a_page(hole, size);
    free_.erase(best);
    if (address > hole) free_.emplace(hole, address - hole);
    if (hole + length > address + size) free_.emplace(address + size, hole + length - (address + size));
    return address;
  }
  auto const address = within_a_page(end_, size);
  if (address > end_) free_.emplace(end_, address - end_);
  end_ = address + size;
  // HDF5 extends an object header at the end of the file when attributes are added. If the extension could
  // cross a page boundary, an unused byte ends the file, so that HDF5 allocates a new block instead.
  if (!raw_data && size <= kPageBytes && kPageBytes - (end_ - 1) % kPageBytes - 1 < kGrowth) ++end_;
  return address;
}

void CommitFile::release(std::uint64_t address, std::uint64_t size) {
  if (size > 0) released_.emplace(address, size);
}

void CommitFile::write(int rank, std::uint64_t address, std::uint64_t size, unsigned char const* data) {
  written_end_ = std::max(written_end_, address + size);
  if (failed()) return keep(rank, address, size, data);
  auto const old_part = address < committed_ ? std::min(size, committed_ - address) : 0;
  if (old_part > 0) keep(rank, address, old_part, data);
  if (size > old_part) {
    write_through(address + old_part, size - old_part, data + old_part);
    if (failed()) keep(rank, address + old_part, size - old_part, data + old_part);
  }
}

void CommitFile::keep(int rank, std::uint64_t address, std::uint64_t size, unsigned char const* data) {
  auto const end = address + size;
  auto it = pieces_.lower_bound(address);
  if (it != pieces_.begin() && std::prev(it)->first + std::prev(it)->second.bytes.size() > address) --it;
  // Cut the overwritten range out of the existing pieces.
  while (it != pieces_.end() && it->first < end) {
    auto const start = it->first;
    auto piece = std::move(it->second);
    it = pieces_.erase(it);
    auto const piece_end = start + piece.bytes.size();
    if (start < address) {
      auto const cut = static_cast<std::ptrdiff_t>(address - start);
      pieces_[start] = {piece.rank, {piece.bytes.begin(), piece.bytes.begin() + cut}};
    }
    if (piece_end > end) {
      auto const cut = static_cast<std::ptrdiff_t>(end - start);
      pieces_[end] = {piece.rank, {piece.bytes.begin() + cut, piece.bytes.end()}};
    }
  }
  pieces_[address] = {rank, {data, data + size}};
}

void CommitFile::write_through(std::uint64_t address, std::uint64_t size, unsigned char const* data) {
  while (size > 0 && !failed()) {
    auto const n = ::pwrite(file_.get(), data, size, static_cast<off_t>(address));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      error_ = n < 0 ? errno : ENOSPC;
      return;
    }
    address += static_cast<std::uint64_t>(n);
    size -= static_cast<std::uint64_t>(n);
    data += n;
  }
}

bool CommitFile::read(std::uint64_t address, std::uint64_t size, unsigned char* data) {
  auto const end = address + size;
  for (std::uint64_t done = 0; done < size;) {
    auto const n = ::pread(file_.get(), data + done, size - done, static_cast<off_t>(address + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      error_ = errno;
      return false;
    }
    if (n == 0) {  // allocated but not written yet
      std::memset(data + done, 0, size - done);
      break;
    }
    done += static_cast<std::uint64_t>(n);
  }
  auto it = pieces_.lower_bound(address);
  if (it != pieces_.begin()) --it;
  for (; it != pieces_.end() && it->first < end; ++it) {
    auto const from = std::max(address, it->first);
    auto const to = std::min(end, it->first + it->second.bytes.size());
    if (from < to)
      std::memcpy(data + (from - address), it->second.bytes.data() + (from - it->first), to - from);
  }
  return true;
}

void CommitFile::commit() {
  // The file must have the size that HDF5 assumes before the superblock records it.
  if (!failed() && end_ > committed_ && ::ftruncate(file_.get(), static_cast<off_t>(end_)) != 0)
    error_ = errno;
  if (!failed() && ::fdatasync(file_.get()) != 0 && errno != EINVAL && errno != ENOSYS) error_ = errno;
  for (int rank = 0; rank <= 5 && !failed(); ++rank)
    for (auto const& [address, piece] : pieces_)
      if (piece.rank == rank && !failed()) write_through(address, piece.bytes.size(), piece.bytes.data());
  if (!failed() && ::fdatasync(file_.get()) != 0 && errno != EINVAL && errno != ENOSYS) error_ = errno;
  if (failed()) throw RunError(failure());
  pieces_.clear();
  committed_ = end_;
  for (auto [address, size] : released_) {
    auto const after = free_.lower_bound(address);
    if (after != free_.end() && after->first == address + size) {
      size += after->second;
      free_.erase(after);
    }
    auto const next = free_.lower_bound(address);
    if (next != free_.begin() && std::prev(next)->first + std::prev(next)->second == address)
      std::prev(next)->second += size;
    else
      free_.emplace(address, size);
  }
  released_.clear();
}

void CommitFile::rename_to(std::string const& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0)
    throw RunError("cannot rename '" + path_ + "' to '" + path + "': " + std::strerror(errno));
  path_ = path;
  sync_folder_of(path);
}

}  // namespace farfault::results
