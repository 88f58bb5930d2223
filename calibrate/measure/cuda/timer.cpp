#include "calibrate/measure/cuda/timer.hpp"

#include <cupti.h>

#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string_view>
#include <utility>

namespace napkin::measure {
namespace {

constexpr CUpti_ActivityKind kinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                        CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};
constexpr std::size_t buffer_bytes = 8u << 20, alignment = 8;

// CUPTI calls back with plain functions, from its own thread: what they share is here.
struct Shared {
  std::mutex mutex;
  std::vector<Activity> activities;
  std::size_t dropped = 0, unfinished = 0;
  decltype(&cuptiActivityGetNextRecord) next = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_of = nullptr;
};
Shared& shared() {
  static Shared s;
  return s;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, buffer_bytes));
  *size = *buffer == nullptr ? 0 : buffer_bytes;
  *records = 0;
}

template <class R>
void keep(const CUpti_Activity* record, bool marker) {
  const auto* r = reinterpret_cast<const R*>(record);
  if (r->start == 0 || r->end < r->start) {
    ++shared().unfinished;
    return;
  }
  shared().activities.push_back({r->deviceId, r->start, r->end, marker});
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  auto& s = shared();
  const std::lock_guard lock(s.mutex);
  CUpti_Activity* record = nullptr;
  while (valid > 0 && s.next(buffer, valid, &record) == CUPTI_SUCCESS) switch (record->kind) {
      case CUPTI_ACTIVITY_KIND_KERNEL:
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
        const char* name = reinterpret_cast<const CUpti_ActivityKernel10*>(record)->name;
        constexpr std::string_view marker = "napkin_mark";
        keep<CUpti_ActivityKernel10>(record, name != nullptr && std::strncmp(name, marker.data(), marker.size()) == 0);
        break;
      }
      case CUPTI_ACTIVITY_KIND_MEMCPY: keep<CUpti_ActivityMemcpy6>(record, false); break;
      case CUPTI_ACTIVITY_KIND_MEMCPY2: keep<CUpti_ActivityMemcpyPtoP4>(record, false); break;
      case CUPTI_ACTIVITY_KIND_MEMSET: keep<CUpti_ActivityMemset4>(record, false); break;
      default: break;
    }
  std::size_t lost = 0;
  if (s.dropped_of(context, stream, &lost) == CUPTI_SUCCESS) s.dropped += lost;
  std::free(buffer);
}

}  // namespace

struct Timer::Functions {
  Library library;
  decltype(&cuptiActivityEnable) enable;
  decltype(&cuptiActivityDisable) disable;
  decltype(&cuptiActivityFlushAll) flush;
  decltype(&cuptiActivityRegisterCallbacks) callbacks;
  decltype(&cuptiGetResultString) text;

  explicit Functions(const std::string& folders)
      : library({"libcupti.so.13", "libcupti.so.12", "libcupti.so"}, folders),
        enable(library.symbol<decltype(enable)>("cuptiActivityEnable")),
        disable(library.symbol<decltype(disable)>("cuptiActivityDisable")),
        flush(library.symbol<decltype(flush)>("cuptiActivityFlushAll")),
        callbacks(library.symbol<decltype(callbacks)>("cuptiActivityRegisterCallbacks")),
        text(library.symbol<decltype(text)>("cuptiGetResultString")) {
    shared().next = library.symbol<decltype(&cuptiActivityGetNextRecord)>("cuptiActivityGetNextRecord");
    shared().dropped_of = library.symbol<decltype(&cuptiActivityGetNumDroppedRecords)>("cuptiActivityGetNumDroppedRecords");
  }
  void check(CUptiResult result, const char* what) const {
    if (result == CUPTI_SUCCESS) return;
    const char* why = nullptr;
    text(result, &why);
    throw std::runtime_error(std::string("CUPTI: ") + what + ": " + (why == nullptr ? "unknown error" : why));
  }
};

Timer::Timer(const std::string& libraries) : cupti_(std::make_unique<Functions>(libraries)) {
  cupti_->check(cupti_->callbacks(give_buffer, take_buffer), "registering the buffers");
  start();
}

Timer::~Timer() {
  try {
    stop();
  } catch (...) {  // the process ends: nothing is lost that was not collected
  }
}

void Timer::start() {
  if (std::exchange(on_, true)) return;
  for (const auto kind : kinds) cupti_->check(cupti_->enable(kind), "enabling activity records");
}

void Timer::stop() {
  if (!std::exchange(on_, false)) return;
  cupti_->flush(1);
  for (const auto kind : kinds) cupti_->check(cupti_->disable(kind), "disabling activity records");
}

std::vector<Activity> Timer::collect() {
  cupti_->check(cupti_->flush(0), "reading the activity records");
  auto& s = shared();
  const std::lock_guard lock(s.mutex);
  if (s.dropped > 0) throw DroppedRecords("CUPTI dropped " + std::to_string(s.dropped) + " activity records");
  if (s.unfinished > 0)
    throw DroppedRecords("CUPTI returned " + std::to_string(s.unfinished) + " activity records without times");
  return std::exchange(s.activities, {});
}

}  // namespace napkin::measure
