#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Names, comments, documents and texts use the field's words: "per cycle", "evicted", "unmapped", "route". Fails with
# file, line and phrase for each phrase below that a tracked file contains.
. "$(dirname "$0")/../support/script.sh"
command -v perl >/dev/null || { echo "skipped: perl is missing"; exit 77; }

number='(?:one|two|three|four|five|six|eight|ten|half|[0-9]+(?:[.,][0-9]+)*(?:x[0-9]{1,2})?)'
counted='(?:events|bytes|instructions|requests|look-ups?|transactions|accesses|reads|writes|hits|misses|walks|cycles|entries|lines|pages|packets|messages|threads|warps|blocks|samples|links|ports|slots|edges|units\)|units|SMs|GPUs|multiprocessors|floats|rounds|vertices|banks|channels?|wavefronts|handled|walkers|lanes|pages|NVLinks|NICs|credits|rows)'
unit='(?:cycle|event|second|transaction|access|page|GPU|CPU|SM|CU|round|slice|channel|warp|block|thread|lane|step|kernel|row|line|element|point|output|sample|link|port|rank|set|way|node|machine|switch|vertex|edge|bucket|message|epoch|level|instruction|core|partition|iteration|pair|side|sort|queue|device|walker|turn|window|file|run|minute|microsecond|us|ms|workload|miss|time|cluster|transform|tile)'
phrases=(
  # Rates and shares: "per".
  "\b(?:$number|$counted) an? $unit\b(?! (?:holds?|may|can|must|has|is|with|of|that|later|earlier|after|before|whose|for|apart))"
  "\b(?:once|twice) an? $unit\b(?! (?:that|is|has|below|with))"
  "\b$number (?:[a-z]+ )?$counted an? $unit\b(?! (?:holds?|may|can|has|is|that))"
  "\b(?:one|an?) (?:thread|warp|block|kernel|walk|lane|GPU|line|step|number) an? $unit\b"
  '\ba cycle each\b'
  # Evictions, mappings, routes, requesters.
  '\bputs? out (?!(?:of|there|a sentence))'
  '\b(?:is|was|are|were|line|lines) put out\b'
  '\blie(?:s|d)? nowhere\b'
  '\bnowhere yet\b'
  '\bwho (?:asks|asked|faults|waits|wants|touches)\b'
  '\bheld back\b|\bholds? back who\b'
  '\bby the same way\b|\bsame way\)|\bthe way to the (?:driver|GPU|IOMMU|memory)\b'
  '\bfrom afar\b'
  '\b(?:gives?|given|giving) out\b'
  '\bround the (?:GPUs|devices)\b'
  '\bto and fro\b'
  '\bin vain\b|\b[Vv]ain walks?\b'
  # Names.
  '\b(?:go_on|take_up|speak|give_up)\('
  '\btaken up again\b|\btakes? up (?:one|the run)\b'
)
# The program's output, and the texts of a result's statistics.
"$farfault" params >"$scratch/params"
"$farfault" workloads >"$scratch/workloads"
for command in run sweep params workloads inspect diff validate; do "$farfault" "$command" --help; done >"$scratch/help"
"$farfault" run paper-gmmu-bypass --set workload.name=relu --set workload.relu.size=64KiB --set gpu.sms=2 \
  --set memory.remote_touch=migrate --output "$scratch/result.h5" >"$scratch/summary" 2>&1
check "a small run" test -s "$scratch/result.h5"
command -v h5dump >/dev/null && h5dump -A "$scratch/result.h5" >"$scratch/attributes"
rm -f "$scratch/result.h5"

# One example per phrase, in the same order. A phrase that does not match its example is broken.
offences=('one a cycle' 'once a cycle' 'two bytes a line' 'one thread an element' 'a cycle each' 'puts out lines'
  'was put out' 'lies nowhere' 'nowhere yet' 'who asks' 'held back' 'by the same way' 'from afar' 'gives out'
  'round the GPUs' 'to and fro' 'in vain' 'go_on(' 'taken up again')
check "one offence per phrase" test "${#offences[@]}" -eq "${#phrases[@]}"
for i in "${!phrases[@]}"; do
  check "'${offences[i]}' is found" perl -e 'exit($ARGV[1] !~ /$ARGV[0]/)' "${phrases[i]}" "${offences[i]}"
done

files=$(git ls-files | grep -vE '\.(svg|json)$|^LICENSE$|^tests/docs/plain_english\.sh$')
check "the list of files is not empty" test -n "$files"
for phrase in "${phrases[@]}"; do
  # A phrase may continue on the next line, comment or string.
  # shellcheck disable=SC2016,SC2086
  found=$(perl -0777 -ne '
    BEGIN { $phrase = shift; $phrase =~ s{ }{(?: ?"?\\n[ \\t]*(?://|#|\\|)?[ \\t]*"?| )}g }
    while (/($phrase)/g) { my $line = 1 + (substr($_, 0, $-[1]) =~ tr/\n//); my $text = $1 =~ s/\s+/ /gr; print "  $ARGV:$line: $text\n" }' \
    "$phrase" $files "$scratch"/*)
  check "plain words for:"$'\n'"$found" test -z "$found"
done
finish
