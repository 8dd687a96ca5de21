#!/bin/bash
# Counts the words of a file that was copied in, and leaves a table to be copied out:
#
#   glovebox run examples/data.sh --file README.md:/home/user/text --out /home/user/table.tsv:words.tsv
set -eu
tr -cs '[:alpha:]' '\n' < text | tr '[:upper:]' '[:lower:]' | sort | uniq -c | sort -rn \
  | awk '{print $2 "\t" $1}' > table.tsv
echo "the five commonest words:"
head -n 5 table.tsv
