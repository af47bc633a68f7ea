#include "tensor/workspace.hpp"

#include <algorithm>
#include <memory>
#include <new>

namespace halfbyte::tensor {
namespace {

constexpr std::align_val_t kAlignment{64};

struct Free {
  void operator()(std::uint8_t* memory) const { ::operator delete(memory, kAlignment); }
};

struct Workspace {
  std::unique_ptr<std::uint8_t, Free> memory;
  std::size_t size = 0;
};

thread_local Workspace own;

}  // namespace

std::uint8_t* workspace(std::size_t bytes) noexcept {
  bytes = std::max<std::size_t>(bytes, 1);
  if (bytes > own.size) {
    release_workspace();  // before more is asked for: what it held is void anyway
    own.memory.reset(static_cast<std::uint8_t*>(::operator new(bytes, kAlignment, std::nothrow)));
    own.size = own.memory ? bytes : 0;
  }
  return own.memory.get();
}

void release_workspace() noexcept {
  own.memory.reset();
  own.size = 0;
}

}  // namespace halfbyte::tensor
