#include "common/text/document.hpp"
#include "common/text/document_builder.hpp"
#include "common/text/utf8.hpp"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <cctype>
#include <istream>
#include <optional>
#include <streambuf>
#include <utility>

namespace cupel::text {
namespace {

int line_of(const YAML::Mark& mark) {
  return mark.line + 1;
}
int column_of(const YAML::Mark& mark) {
  return mark.column + 1;
}

/// Turns yaml-cpp's events into builder calls and refuses what a file of ours never needs.
class YamlEvents final : public YAML::EventHandler {
 public:
  explicit YamlEvents(DocumentBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (++documents_ > 1) {
      builder_.stop(Errc::yaml_syntax, "a second document begins here", line_of(mark),
                    column_of(mark), "one file holds one document: remove the line '---'");
    }
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    refuse_anchor(mark, anchor);
    builder_.null(line_of(mark), column_of(mark));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    builder_.stop(Errc::yaml_syntax, "aliases (*name) are not allowed", line_of(mark),
                  column_of(mark), "write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    if (tag == "!") last_quoted_ = mark;
    builder_.scalar(value, tag == "!", line_of(mark), column_of(mark));
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    builder_.begin(Node::Kind::list, line_of(mark), column_of(mark));
  }
  void OnSequenceEnd() override { builder_.end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    refuse_anchor(mark, anchor);
    refuse_tag(mark, tag);
    builder_.begin(Node::Kind::map, line_of(mark), column_of(mark));
  }
  void OnMapEnd() override { builder_.end(); }

  /// Where the newest scalar in quotes, or block of text, began.
  [[nodiscard]] const std::optional<YAML::Mark>& last_quoted() const { return last_quoted_; }

 private:
  void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor == YAML::NullAnchor) return;
    builder_.stop(Errc::yaml_syntax, "anchors (&name) are not allowed", line_of(mark),
                  column_of(mark), "write the value out");
  }
  void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    builder_.stop(Errc::yaml_syntax, "tags (!name) are not allowed", line_of(mark), column_of(mark),
                  "put text in quotes instead");
  }

  DocumentBuilder& builder_;
  int documents_ = 0;
  std::optional<YAML::Mark> last_quoted_;
};

/// Reads from the caller's bytes without a copy.
class ViewBuffer : public std::streambuf {
 public:
  explicit ViewBuffer(std::string_view bytes) {
    char* begin = const_cast<char*>(bytes.data());  // never written: there is only a get area
    setg(begin, begin, begin + bytes.size());
  }
};

Diagnostic fault_at(const std::string& file, std::string_view text, std::size_t offset,
                    std::string message) {
  const std::string_view before = text.substr(0, offset);
  const auto line = static_cast<int>(std::count(before.begin(), before.end(), '\n')) + 1;
  const std::size_t line_start =
      before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return {
      file, line, static_cast<int>(offset - line_start) + 1, Errc::yaml_syntax, std::move(message),
      ""};
}

/// What no YAML file may hold, said better than the library would.
std::optional<Diagnostic> unreadable(std::string_view text, const std::string& file,
                                     const DocumentLimits& limits) {
  if (text.size() > limits.bytes) {
    return Diagnostic{file,
                      0,
                      0,
                      Errc::too_large,
                      "the file has " + std::to_string(text.size()) + " bytes, at most " +
                          std::to_string(limits.bytes) + " are read",
                      ""};
  }
  if (const auto bad = first_invalid_utf8(text)) {
    Diagnostic fault = fault_at(file, text, *bad, "not valid UTF-8");
    fault.hint = "save the file as UTF-8";
    return fault;
  }
  const auto control = std::find_if(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\n' && c != '\r' && c != '\t') || byte == 0x7F;
  });
  if (control != text.end()) {
    return fault_at(file, text, static_cast<std::size_t>(control - text.begin()),
                    "a control character, which YAML doesn't allow");
  }
  return std::nullopt;
}

/// True where the indentation of a line (1-based) holds a tab.
bool indents_with_tab(std::string_view text, int line) {
  for (int at = 1; at < line; ++at) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return false;
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find_first_not_of(" \t")).find('\t') != std::string_view::npos;
}

/// True when a quote is opened at this place and never closed. The library takes all that follows,
/// up to the end of the file, for the text.
bool opens_for_ever(std::string_view text, const YAML::Mark& mark) {
  for (int line = 0; line < mark.line; ++line)
    text.remove_prefix(std::min(text.find('\n'), text.size() - 1) + 1);
  text.remove_prefix(std::min(static_cast<std::size_t>(mark.column), text.size()));
  if (text.empty() || (text.front() != '"' && text.front() != '\'')) return false;
  const char quote = text.front();
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\') {
      ++at;
    } else if (text[at] == quote) {
      if (quote == '"' || at + 1 >= text.size() || text[at + 1] != quote) return false;
      ++at;
    }
  }
  return true;
}

Diagnostic syntax_fault(const YAML::Exception& error, std::string_view text,
                        const std::string& file) {
  Diagnostic fault{file, 0, 0, Errc::yaml_syntax, "not YAML: " + printable(error.msg), ""};
  if (error.mark.is_null()) return fault;
  fault.line = line_of(error.mark);
  fault.column = column_of(error.mark);
  // The library notices a tab at the token after it, sometimes on the line below.
  if (indents_with_tab(text, fault.line) ||
      (fault.line > 1 && indents_with_tab(text, fault.line - 1))) {
    fault.hint = "YAML is indented with spaces; there is a tab";
  }
  return fault;
}

}  // namespace

Document read_yaml(std::string_view text, const std::string& file, const DocumentLimits& limits) {
  if (auto fault = unreadable(text, file, limits)) return {std::nullopt, {std::move(*fault)}};
  DocumentBuilder builder(file, limits);
  const auto failed = [&builder](Diagnostic fault) {
    Document document = builder.finish();
    document.root.reset();
    document.faults.push_back(std::move(fault));
    return document;
  };
  // yaml-cpp reports by exceptions; they end here.
  try {
    ViewBuffer buffer(text);
    std::istream stream(&buffer);
    YAML::Parser parser(stream);
    YamlEvents events(builder);
    while (parser.HandleNextDocument(events)) {
    }
    if (const auto& mark = events.last_quoted(); mark && opens_for_ever(text, *mark)) {
      return failed({file, line_of(*mark), column_of(*mark), Errc::yaml_syntax,
                     "not YAML: this quote is never closed", ""});
    }
  } catch (StopReading& stopped) {
    return failed(std::move(stopped.fault));
  } catch (const YAML::Exception& error) {
    return failed(syntax_fault(error, text, file));
  } catch (const std::exception& error) {
    return failed({file, 0, 0, Errc::yaml_syntax, std::string("not YAML: ") + error.what(), ""});
  }
  return builder.finish();
}

}  // namespace cupel::text
