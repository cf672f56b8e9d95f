# Which files may be compiled together: awk -v most=16 -f together.awk FILE... prints "GROUP FILE" for
# each of them, at most `most` files a group. A name that a file keeps to itself (in `namespace {`,
# `static`, a macro) stands in no other file of its group, so no two files need to know of each
# other's names. A name that is kept by `using X::NAME;` may stand where all say so.

function forget_file(  name) {
  for (name in kept) delete kept[name]
  for (name in words) delete words[name]
}

# The name that a line in the first column declares: the last one before what follows names. A
# function's with its parenthesis, so that it does not meet variables.
function declared(line,  at, of_function) {
  at = match(line, /[(={;[]/)
  if (at == 0) return ""
  of_function = substr(line, at, 1) == "("
  line = substr(line, 1, at - 1)
  sub(/ : .*$/, "", line)  # a base class or an enumeration's type
  if (line ~ /operator|^using namespace/ || !match(line, /[A-Za-z_][A-Za-z0-9_]* *$/)) return ""
  line = substr(line, RSTART, RLENGTH)
  sub(/ +$/, "", line)
  return line (of_function ? "(" : "")
}

# Adds the names of a declaration of several, but for the one that declared() gives.
function add_names(line,  at, i, count, parts) {
  at = match(line, /[={;[]/)
  open = 1
  depth = follows = 0
  add_others(substr(line, at))
  line = substr(line, 1, at - 1)
  sub(/ : .*$/, "", line)
  gsub(/<.*>/, "", line)
  count = split(line, parts, ",")
  for (i = 1; i < count; ++i)
    if (match(parts[i], /[A-Za-z_][A-Za-z0-9_]* *$/)) kept[word_in(substr(parts[i], RSTART))] = ""
}

# The names that follow a bracket, `=` or `;`, in this line and in those below until the `;`.
function add_others(line,  mark) {
  while (gsub(/<[A-Za-z0-9_:, *&]*>/, "", line)) ;  # of templates, whose commas part no names
  if (follows) line = "," line
  follows = 0
  while (match(line, /[][(){},;]/)) {
    mark = substr(line, RSTART, 1)
    line = substr(line, RSTART + 1)
    if (index("[({", mark)) ++depth
    else if (index("])}", mark)) --depth
    else if (depth > 0) continue
    else if (mark == ";") { open = 0; return }
    else if (line ~ /^ *$/) follows = 1
    else if (match(line, /^ *[A-Za-z_][A-Za-z0-9_]* *[[={;,]/)) kept[word_in(line)] = ""
  }
}

function word_in(line) {
  match(line, /[A-Za-z_][A-Za-z0-9_]*/)
  return substr(line, RSTART, RLENGTH)
}

# Whether a name that this file keeps means something else in the group.
function differ(group, name) {
  return users[group, name] && (kept[name] == "" || as[group, name, kept[name]] != users[group, name])
}

function place(  group, name, fits) {
  if (file == "") return
  for (group = 1; group <= groups; ++group) {
    if (size[group] >= most) continue
    fits = 1
    for (name in kept) if (differ(group, name)) fits = 0
    for (name in words) if (keepers[group, name] && !(name in kept)) fits = 0
    if (fits) break
  }
  if (group > groups) groups = group
  ++size[group]
  for (name in kept) { ++keepers[group, name]; ++as[group, name, kept[name]] }
  for (name in words) ++users[group, name]
  print group, file
  forget_file()
}

FNR == 1 { place(); file = FILENAME; inside = raw = open = 0 }
raw { raw = !/\)"/; next }  # of a string over several lines
/R"\(/ && !/\)"/ { raw = 1; sub(/R"\(.*/, "") }
/^namespace \{/ { inside = 1; next }
/^\}  \/\/ namespace$/ { inside = 0; next }
{
  line = $0
  gsub(/"([^"\\]|\\.)*"/, "", line)
  gsub(/'([^'\\]|\\.)'/, "", line)
  sub(/\/\/.*/, "", line)
}
/^# *define / { split(line, parts, /[ (]+/); kept[parts[2]] = "" }
/^[A-Za-z]/ { open = 0 }
open { add_others(line) }
(inside || /^static /) && /^[A-Za-z]/ && !/^(template|static_assert|TEST|INSTANTIATE)/ {
  name = declared(line)
  if (name != "") kept[name] = line ~ /^using [^=]*;/ ? line : ""
  if (name != "" && name !~ /\($/) add_names(line)
}
{
  gsub(/(\.|->|::)[A-Za-z_][A-Za-z0-9_]*/, "", line)  # of something else that is named before it
  while (match(line, /[A-Za-z_][A-Za-z0-9_]*\(?/)) {
    word = substr(line, RSTART, RLENGTH)
    line = substr(line, RSTART + RLENGTH)
    words[word] = 1
    if (sub(/\($/, "", word)) words[word] = 1
  }
}
END { place() }
