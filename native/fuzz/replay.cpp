// Runs a fuzz target over files and folders, without libFuzzer: to see that old findings stay fixed, and as a small
// fuzzer of its own for compilers that have none.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Input = std::vector<std::uint8_t>;

Input read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// A copy on the heap, exactly as long as the input, so that the sanitizer sees a read past its end.
void run(const Input& input) {
  const Input exact(input);
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

// One to four small changes: bytes flipped, overwritten, removed, doubled, or the end cut off.
Input mutated(Input input, std::mt19937& random) {
  for (unsigned n = 1 + random() % 4; n > 0 && !input.empty(); --n) {
    const std::size_t at = random() % input.size();
    const auto begin = input.begin() + static_cast<std::ptrdiff_t>(at);
    const std::size_t length = 1 + random() % std::min<std::size_t>(16, input.size() - at);
    switch (random() % 6) {
      case 0: *begin ^= static_cast<std::uint8_t>(1U << random() % 8); break;
      case 1: *begin = static_cast<std::uint8_t>(random()); break;
      case 2: *begin = random() % 2 == 0 ? 0xFF : 0; break;
      case 3: input.erase(begin, begin + static_cast<std::ptrdiff_t>(length)); break;
      case 4: {
        const Input piece(begin, begin + static_cast<std::ptrdiff_t>(length));
        input.insert(begin, piece.begin(), piece.end());
        break;
      }
      default: input.erase(begin, input.end() - (input.size() - at >= 2 && random() % 2 == 0 ? 2 : 0)); break;
    }
  }
  return input;
}

std::vector<std::filesystem::path> files_of(const std::filesystem::path& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    if (entry.is_regular_file()) files.push_back(entry.path());
  }
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  unsigned long mutations = 0;
  std::size_t files = 0;
  std::mt19937 random(1);
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--mutate") == 0 && i + 1 < argc) {
      mutations = std::strtoul(argv[++i], nullptr, 10);
      continue;
    }
    for (const auto& path : files_of(argv[i])) {
      const Input input = read(path);
      run(input);
      for (unsigned long n = 0; n < mutations; ++n) run(mutated(input, random));
      ++files;
    }
  }
  std::printf("%zu files, %lu mutations of each\n", files, mutations);
  return files == 0 ? 1 : 0;  // a wrong path must not look like a pass
}
