// The key record. Order and tags are part of every digest ever taken: see kKeyVersion.
#include <diecast/cache/artifact_key.h>
#include <diecast/compile/compiler.h>

namespace diecast {
namespace {

constexpr std::uint16_t tag(KeyTag value) { return static_cast<std::uint16_t>(value); }

}  // namespace

ArtifactKey make_key(const KeyFields& fields) {
  Record options;
  for (const std::string& option : fields.options) options.add(1, option);
  ArtifactKey key;
  key.record.reserve(fields.source.size() + 1024);  // the source is nearly all of it
  key.record.add(tag(KeyTag::version), kKeyVersion)
      .add(tag(KeyTag::template_name), fields.template_name)
      .add(tag(KeyTag::source), fields.source)
      .add(tag(KeyTag::options), options.bytes())
      .add(tag(KeyTag::target), fields.target)
      .add(tag(KeyTag::kind), static_cast<std::uint64_t>(fields.kind))
      .add(tag(KeyTag::schema), fields.schema);
  key.digest = key.record.digest();
  return key;
}

ArtifactKey make_key(const Specialization& specialization, const Source& source) {
  const Target& target = specialization.target();
  return make_key(
      KeyFields{source.symbol, source.text, code_options(target, source.build), target.name(),
                target.is_host() ? Artifact::Kind::shared_object : Artifact::Kind::cubin,
                specialization.argument_schema()});
}

ArtifactKey key_of(ByteSpan record) { return {Record(record), xxh3_128(record)}; }

std::optional<Record::Field> key_field(ByteSpan record, KeyTag wanted) {
  std::optional<Record::Field> found;
  while (!record.empty()) {
    const auto field = Record::take(record);
    if (!field) return std::nullopt;
    if (field->tag == tag(wanted) && !found) found = field;
  }
  return found;
}

}  // namespace diecast
