#pragma once

// A made-up /proc and /sys in a temporary directory, gone with the object.

#include <ftw.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <string>

class TestTree {
 public:
  TestTree() {
    char name[] = "/tmp/phicoll-tree-XXXXXX";
    const char* made = mkdtemp(name);
    root_ = made == nullptr ? std::string() : std::string(made);
  }
  ~TestTree() {
    if (root_.empty()) return;
    nftw(
        root_.c_str(), [](const char* path, const struct stat*, int, FTW*) { return std::remove(path); }, 16,
        FTW_DEPTH | FTW_PHYS);
  }
  TestTree(const TestTree&) = delete;
  TestTree& operator=(const TestTree&) = delete;

  const std::string& root() const { return root_; }

  void write(const std::string& path, const std::string& text) {
    for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
      mkdir((root_ + path.substr(0, slash)).c_str(), 0755);
    std::ofstream(root_ + path) << text;
  }
  void remove(const std::string& path) { std::remove((root_ + path).c_str()); }

 private:
  std::string root_;
};
