#!/usr/bin/env bash
# tests/tree/counts.sh [CHECKOUT [OP]]: how crowded a checkout is, in a few numbers that two checkouts can
# be compared by. CHECKOUT: this one without a word. OP: the op whose files are counted (quantize_mx).
set -eu
export LC_ALL=C
cd "${1:-$(dirname "${BASH_SOURCE[0]}")/../..}"
op=${2:-quantize_mx}

# Every file that git tracks; in a copy without git every file outside build folders.
tracked() {
  if [ -e .git ]; then
    git ls-files
  else
    find . -name .git -prune -o -path './build*' -prune -o -type f -print | sed 's|^\./||'
  fi | while IFS= read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done
}
files=$(tracked)
among() { printf '%s\n' "$files" | grep -E "$1"; }

mapfile -t ops < <(among '^src/diecast/ops/.*\.(cpp|h)$')
echo "src/diecast/ops: $(cat "${ops[@]}" | wc -l) lines in ${#ops[@]} files"

# The lines of the templates' headers, each without the blanks around it.
mapfile -t templates < <(among '^templates/.*\.(cu|h)$')
awk '
  FNR == 1 { inside = 0 }
  inside && /^\*\// { inside = 0 }
  inside {
    length($0) > 140 && ++long
    gsub(/[ \t]+/, " ")
    if ($0 != "" && $0 != " ") { ++all; distinct += !seen[$0]++ }
  }
  /^\/\* diecast/ { inside = 1 }
  END { printf "template headers: %d lines, %d distinct, %d over 140 columns\n", all, distinct, long }' \
  "${templates[@]}"

# Repeats in ops. Two places repeat each other where six lines or more have one shape: the same text once
# names, numbers and strings are taken out. Comments, empty lines and includes do not count, nor do lists,
# which are fewer than three shapes.
awk '
  function shape(line) {
    gsub(/\/\/.*/, "", line)
    gsub(/"([^"\\]|\\.)*"/, "\"", line)
    gsub(/[A-Za-z_0-9]+/, "x", line)
    gsub(/[ \t]+/, "", line)
    return line
  }
  {
    line = shape($0)
    if (line == "" || /^#/) next
    n++
    shapes[n] = line
    file[n] = FILENAME
  }
  END {
    for (i = 1; i + 5 <= n; i++) {
      if (file[i] != file[i + 5]) continue
      window = ""
      kinds = 0
      for (k = i; k < i + 6; k++) {
        window = window "\n" shapes[k]
        for (j = i; j < k && shapes[j] != shapes[k]; j++) {}
        kinds += j == k
      }
      if (kinds >= 3) places[window] = places[window] " " i
    }
    for (window in places) {
      count = split(places[window], at, " ")
      for (a = 1; a <= count; a++) {
        for (b = a + 1; b <= count; b++) {
          one = at[a]; other = at[b]
          if (file[one] == file[other] && other - one < 6) continue
          for (k = 0; k < 6; k++) { repeated[one + k] = 1; repeated[other + k] = 1 }
          # Of a longer repeat only its first six lines are a pair.
          goes_back = file[one - 1] == file[one] && file[other - 1] == file[other]
          if (!goes_back || shapes[one - 1] != shapes[other - 1]) ++pairs
        }
      }
    }
    for (i in repeated) ++lines
    printf "repeats in ops: %d pairs of places, %d of %d lines of code\n", pairs, lines, n
  }' "${ops[@]}"

# The op's name, or its type's (QuantizeMx), alone or in a longer name: dequantize_mx, quantize_mx_tiles.
type=$(printf '%s' "$op" | awk -F_ '{ for (i = 1; i <= NF; i++) printf "%s", toupper(substr($i, 1, 1)) substr($i, 2) }')
named=$(among . | grep -vE '^tests/(gpu-results/|golden/|tree/counts)' | tr '\n' '\0' | xargs -0 grep -lE "$op|$type" || true)
echo "files that name $op or $type: $(printf '%s\n' "$named" | grep -c .)"
printf '%s\n' "$named" | sed -E 's|/[^/]*$||; t; s|.*|.|' | sort | uniq -c | sed 's/^ */  /'
