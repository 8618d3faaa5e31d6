/** Makes one bash script of a page: its blocks run one after the other, in one shell. */
import type { Block } from './blocks.ts';
import { fresh, stopped } from './marks.ts';

/** The output of each program when it is ready; it then runs until Ctrl-C. */
const ready = { serve: '"listening"', receive: 'Ctrl-C ends it', demo: 'Ctrl-C ends it', tail: '' };

/**
 * The functions for the blocks. `stands` is the reader's other terminal, where a program runs until
 * it is stopped. A refused request fails its line, since a reader would see the refusal.
 */
const opening = `set -eEo pipefail
declare -A standing logs
curl() { command curl --fail-with-body "$@"; }
sudo() {
  [ "$1" = -u ] && shift 2
  PGHOST=$DOCUMENT_POSTGRES PGPORT=$DOCUMENT_POSTGRES_PORT PGUSER=postgres "$@"
}
end() {
  local words=\${standing[$1]} code=0
  unset "standing[$1]"
  kill -INT "$1" || { echo "$words has ended by itself:"; cat "\${logs[$1]}"; return 1; }
  wait "$1" || code=$?
  # Nobody knows when \`svc tail\` has begun: it may not have heard of Ctrl-C yet.
  case "$code $words" in "0 "* | "130 "*" tail"*) return ;; esac
  echo "$words ended with $code:"
  cat "\${logs[$1]}"
  return 1
}
end_all() {
  local pid
  for pid in $(printf '%s\\n' "\${!standing[@]}" | sort -rn); do end "$pid"; done
}
forget() {
  local name
  for name in $(compgen -e); do
    case $name in
      PATH | HOME | PWD | NO_COLOR | NODE_COMPILE_CACHE | DOCUMENT_*) ;;
      *) unset "$name" ;;
    esac
  done
}
stands() {
  local says=$1 pid log
  shift
  for pid in "\${!standing[@]}"; do
    if [ "\${standing[$pid]}" = "$*" ]; then end "$pid"; fi
  done
  log=$(mktemp -p "$DOCUMENT_LOGS")
  # Else bash has it ignore Ctrl-C until it listens for it itself, and one that came before is lost.
  (trap - INT; exec "$@") </dev/null >"$log" 2>&1 &
  pid=$!
  standing[$pid]="$*"
  logs[$pid]=$log
  until [ -z "$says" ] || grep -q -e "$says" "$log"; do
    kill -0 "$pid" 2>/dev/null || { echo "$* has ended:"; cat "$log"; return 1; }
    sleep 0.02
  done
}
`;

const standsAlone =
  /^((?:\w+=\S* )*)((?:\.\/)?svc (serve|receive|tail|demo)\b[^|<>#&]*?) *&?(?: +#.*)?$/;

/** Marks the beginning of a block's output with its number, from 0. */
export const borderOf = (index: number): string => `<<< block ${index} >>>`;

/** @param before the commands of the page's preconditions, which run first */
export function scriptOf(blocks: readonly Block[], before = ''): string {
  const parts = blocks.map(({ info, text }, index) => {
    const end = info.includes(stopped) ? 'end_all\n' : '';
    const lines = inTerminals(text);
    const run = info.includes(fresh) ? `(\nforget\n${lines}\n)` : lines;
    return `echo '${borderOf(index)}'\n${end}${run}`;
  });
  const end = `echo '${borderOf(blocks.length)}'\nend_all\n`;
  return [opening, inTerminals(before), ...parts, end].join('\n');
}

/** Moves each program that needs its own terminal into one. */
function inTerminals(text: string): string {
  const lines = text.replaceAll(/ *\\\n */g, ' ').split('\n');
  return lines
    .map((line) => {
      const [, env = '', command, kind] = standsAlone.exec(line) ?? [];
      if (command === undefined) return line;
      return `${env}stands '${ready[kind as keyof typeof ready]}' ${command}`;
    })
    .join('\n');
}
