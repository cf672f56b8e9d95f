// A picture of rectangles, lines and words, as SVG text. Places are pixels from the upper left.
#pragma once

#include <diecast/base/text.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace diecast::tool {

class Svg {
 public:
  using Point = std::pair<double, double>;

  Svg(int width, int height)
      : body_(
            cat("<svg xmlns='http://www.w3.org/2000/svg' font-family='sans-serif' font-size='12' ",
                "width='", width, "' height='", height, "'>\n")) {}

  // `anchor`: which part of the words is at x: start, middle or end.
  void words(Point at, std::string_view text, std::string_view anchor = "start") {
    body_ += cat("<text ", place("x", at.first), place("y", at.second), "text-anchor='", anchor,
                 "'>", escaped(text), "</text>\n");
  }
  // `title`: what a browser shows of it when pointed at.
  void rectangle(Point corner, Point size, std::string_view colour, std::string_view title = {}) {
    body_ += cat("<rect ", place("x", corner.first), place("y", corner.second),
                 place("width", size.first), place("height", size.second), "fill='", colour, "'>",
                 titled(title), "</rect>\n");
  }
  void dot(Point at, double radius, std::string_view colour, std::string_view title) {
    body_ += cat("<circle ", place("cx", at.first), place("cy", at.second), place("r", radius),
                 "fill='", colour, "'>", titled(title), "</circle>\n");
  }
  void line(const std::vector<Point>& points, std::string_view colour, double width) {
    body_ += cat("<polyline fill='none' stroke='", colour, "' ", place("stroke-width", width),
                 "points='");
    for (const auto& [x, y] : points) body_ += cat(rounded(x), ",", rounded(y), " ");
    body_ += "'/>\n";
  }

  std::string text() const { return body_ + "</svg>\n"; }

 private:
  static double rounded(double value) { return std::round(value * 10) / 10; }
  static std::string place(std::string_view name, double value) {
    return cat(name, "='", rounded(value), "' ");
  }
  static std::string titled(std::string_view title) {
    return title.empty() ? std::string() : cat("<title>", escaped(title), "</title>");
  }
  static std::string escaped(std::string_view text) {
    std::string out;
    for (const char c : text) {
      if (c == '&') {
        out += "&amp;";
      } else if (c == '<') {
        out += "&lt;";
      } else {
        out += c;
      }
    }
    return out;
  }

  std::string body_;
};

}  // namespace diecast::tool
