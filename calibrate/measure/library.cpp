#include "calibrate/measure/library.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <sstream>

namespace napkin::measure {

Library::Library(std::initializer_list<const char*> names, const std::string& folders) {
  std::string all = folders + "::/usr/local/cuda/lib64:/usr/local/cuda/extras/CUPTI/lib64";
  if (const char* home = std::getenv("CUDA_HOME")) all += ':' + std::string(home) + "/lib64";
  for (const char* name : names) {
    std::istringstream each(all);
    for (std::string folder; std::getline(each, folder, ':');) {
      const auto path = folder.empty() ? std::string(name) : folder + '/' + name;
      handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
      if (handle_ != nullptr) {
        name_ = path;
        return;
      }
    }
    name_ += (name_.empty() ? "" : " or ") + std::string(name);
  }
  throw Unsupported(name_ + " is not found; name its folder with --libraries, or set LD_LIBRARY_PATH");
}

void* Library::address(const char* name) const {
  void* found = dlsym(handle_, name);
  if (found == nullptr) throw Unsupported(name_ + " has no " + name + ": it is too old");
  return found;
}

}  // namespace napkin::measure
