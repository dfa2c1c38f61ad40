# Joins test files into one. Tests use the same names in their anonymous namespaces, so each of
# these gets a name of its own; the compiler reports lines of the original files.
FNR == 1 {
  print "#line 1 \"" FILENAME "\""
  ++files
}
{
  sub(/^namespace \{/, "namespace joined_" number "_" files " {")
  print
}
