#include "cli/pipeline_picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <iterator>

#include "model/text.hpp"

namespace napkin::cli {
namespace {

// How a kind of work is drawn. A pair is drawn as its two operations, one above the other.
struct Look {
  const char* name;
  std::array<const char*, 2> fill;  // first chunk, later chunks
};
const Look& look_of(Work w) {
  static const std::array<Look, 4> looks{{{"forward", {"#9ec5fe", "#3d7edb"}},
                                          {"backward", {"#a3cfbb", "#2f8f63"}},
                                          {"input gradient", {"#b7e0c8", "#45a877"}},
                                          {"weight gradient", {"#ffe69c", "#e0a800"}}}};
  return looks[static_cast<std::size_t>(w)];
}

class Page {
  fmt::memory_buffer out_;

 public:
  template <class... T>
  void put(fmt::format_string<T...> text, T&&... values) {
    fmt::format_to(std::back_inserter(out_), text, std::forward<T>(values)...);
  }
  [[nodiscard]] std::string take() const { return fmt::to_string(out_); }
};

double shortest_operation(const Timeline& timeline) {
  double shortest = timeline.makespan.si();
  for (const auto& spans : timeline.spans) {
    for (const Span& s : spans) {
      const double length = (s.end - s.start).si();
      if (length > 0) shortest = std::min(shortest, length);
    }
  }
  return shortest;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::string timeline_text(const PipelineProgram& program, const Timeline& timeline, int width) {
  constexpr double widest = 4;  // columns of the shortest operation: a letter and up to three digits
  const double makespan = timeline.makespan.si();
  if (!(makespan > 0)) return {};
  const std::string last_label = std::to_string(program.ranks - 1);
  const double room = std::max(width - static_cast<int>(last_label.size()) - 7, 10);
  double per_second = room / makespan;
  // Whole columns for the shortest operation, so that equal operations look equal.
  const double shortest = shortest_operation(timeline) * per_second;
  if (shortest >= 1) per_second *= std::min(std::floor(shortest), widest) / shortest;
  const auto column = [&](Seconds t) { return static_cast<std::size_t>(std::llround(t.si() * per_second)); };
  std::string text;
  for (std::size_t r = 0; r < program.order.size(); ++r) {
    std::string line(column(timeline.makespan), '.');
    for (std::size_t i = 0; i < program.order[r].size(); ++i) {
      const ScheduledOperation& op = program.order[r][i];
      Span span = timeline.spans[r][i];
      // The two of a pair share its time.
      const Seconds middle = 0.5 * (span.start + span.end);
      if (op.paired) span.end = middle;
      if (i > 0 && program.order[r][i - 1].paired) span.start = middle;
      const std::size_t begin = column(span.start), end = std::min(std::max(column(span.end), begin + 1), line.size());
      if (begin >= end) continue;
      std::string mark(to_string(op.work));
      if (op.chunk % 2 == 1) mark[0] = static_cast<char>(std::tolower(mark[0]));
      const std::string number = std::to_string(op.micro_batch);
      if (mark.size() + number.size() <= end - begin) mark += number;
      mark.resize(end - begin, ' ');
      line.replace(begin, end - begin, mark);
    }
    text += fmt::format("rank {:>{}} {}\n", r, last_label.size(), line);
  }
  return text;
}

std::string timeline_svg(const PipelineProgram& program, const Timeline& timeline, const std::string& title, int width) {
  constexpr double left = 70, right = 16, top = 34, row = 26, box = 22, character = 6.2;
  const double makespan = timeline.makespan.si(), bottom = top + row * program.ranks;
  const double scale = makespan > 0 ? (width - left - right) / makespan : 0;
  Page page;
  page.put("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{:.0f}\" "
                 "font-family=\"sans-serif\" font-size=\"11\">\n",
      width, bottom + 62);
  page.put("<title>{0}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
                 "<text x=\"{1:.0f}\" y=\"20\" font-size=\"14\">{0}</text>\n",
      escaped(title), left);
  std::array<bool, 4> used{};
  for (std::size_t r = 0; r < program.order.size(); ++r) {
    const double y = top + row * static_cast<double>(r);
    page.put("<text x=\"8\" y=\"{:.0f}\">rank {}</text>\n"
                   "<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.2f}\" height=\"{:.0f}\" fill=\"#f1f3f5\"/>\n",
        y + 15, r, left, y, makespan * scale, box);
    for (std::size_t i = 0; i < program.order[r].size(); ++i) {
      const ScheduledOperation& op = program.order[r][i];
      const Span& span = timeline.spans[r][i];
      const bool second_of_pair = i > 0 && program.order[r][i - 1].paired, half = op.paired || second_of_pair;
      const double x = left + span.start.si() * scale, w = (span.end - span.start).si() * scale;
      const double h = half ? box / 2 : box, y_box = y + (second_of_pair ? h : 0);
      used[static_cast<std::size_t>(op.work)] = true;
      page.put("<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" fill=\"{}\" stroke=\"#ffffff\" "
                     "stroke-width=\"0.6\"><title>{} {:.6g}–{:.6g} s</title></rect>\n",
          x, y_box, w, h, look_of(op.work).fill[op.chunk > 0 ? 1 : 0], label(op, program.chunks), span.start.si(),
          span.end.si());
      const std::string number = std::to_string(op.micro_batch);
      if (w >= character * static_cast<double>(number.size()) + 2) {
        page.put("<text x=\"{:.2f}\" y=\"{:.1f}\" text-anchor=\"middle\" font-size=\"{}\">{}</text>\n", x + w / 2,
            y_box + h / 2 + (half ? 3 : 4), half ? 9 : 11, number);
      }
    }
  }
  constexpr int ticks = 10;
  for (int k = 0; k <= ticks; ++k) {
    const double t = makespan * k / ticks, x = left + t * scale;
    page.put("<line x1=\"{0:.2f}\" y1=\"{1:.0f}\" x2=\"{0:.2f}\" y2=\"{2:.0f}\" stroke=\"#868e96\"/>\n"
                   "<text x=\"{0:.2f}\" y=\"{3:.0f}\" text-anchor=\"middle\" fill=\"#495057\">{4}</text>\n",
        x, bottom + 2, bottom + 7, bottom + 19, format(Seconds::si(t)));
  }
  double x = left;
  for (const Work w : {Work::forward, Work::backward, Work::input_gradient, Work::weight_gradient}) {
    if (!used[static_cast<std::size_t>(w)]) continue;
    const Look& look = look_of(w);
    for (int chunk = 0; chunk < std::min(program.chunks, 2); ++chunk) {
      page.put("<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"14\" height=\"12\" fill=\"{}\"/>\n", x, bottom + 36,
          look.fill[static_cast<std::size_t>(chunk)]);
      x += 16;
    }
    page.put("<text x=\"{:.0f}\" y=\"{:.0f}\">{}</text>\n", x + 2, bottom + 46, look.name);
    x += 120;
  }
  page.put("</svg>\n");
  return page.take();
}

}  // namespace napkin::cli
