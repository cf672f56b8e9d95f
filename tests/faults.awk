# awk -f faults.awk PASSED FAULTS.md: how many rows of the fault list were made to happen. PASSED has the
# ctest names of tests that ran and passed; a row counts when all the tests it names did.
NR == FNR {
  sub(/^[a-z]+\./, "")       # the floor
  sub(/^[A-Za-z0-9]+\//, "") # an instantiation's name
  sub(/\/.*$/, "")           # a parameter
  ran[$0]
  next
}
split($0, cell, /\|/) == 5 && cell[2] ~ /^ [A-Z]+-[0-9]+ $/ {
  gsub(/ /, "", cell[2])
  if (cell[4] ~ /^ none: /) {
    untested++
    next
  }
  rows++
  gsub(/ /, "", cell[4])
  all = 1
  for (i = split(cell[4], test, ","); i > 0; i--) if (!(test[i] in ran)) all = 0
  if (all) happened++
  else missing = missing " " cell[2]
}
END {
  printf "fault list: %d of %d rows ran; %d more have no test and say why", happened, rows, untested
  if (missing != "") printf "; did not run here:%s", missing
  print ""
}
