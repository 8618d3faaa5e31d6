/**
 * `svc completion`: prints a script that completes commands, their flags and the values of flags. A
 * script holds everything itself, so that a Tab starts no program.
 */
import { exitCode, type Command, type Io, type FlagTable } from '../cli.ts';
import { parseFlags, wrongUsage } from '../frame/flags.ts';

/** @param load all public commands */
export function createCompletion(load: () => Promise<readonly Completed[]>): Command {
  return {
    name: 'completion',
    summary: 'Print the completion script for bash, zsh or fish',
    usage: `Usage: svc completion bash|zsh|fish

Prints a script that lets the shell complete commands, their flags and the names of files.

  bash   source <(svc completion bash)        in ~/.bashrc
  zsh    source <(svc completion zsh)         in ~/.zshrc, after compinit
  fish   svc completion fish | source         in ~/.config/fish/config.fish
`,
    flags: {},
    takes: shells,
    run: (args, io) => run(args, io, load),
  };
}

async function run(
  args: readonly string[],
  io: Io,
  load: () => Promise<readonly Completed[]>,
): Promise<number> {
  const parsed = parseFlags(args, {}, 1);
  if (parsed.kind === 'wrong') return wrongUsage(io, 'completion', parsed.message);
  const [written] = parsed.positionals;
  const shell = shells.find((one) => one === written);
  if (shell === undefined) {
    const what = written === undefined ? '' : ` "${written}" is none of them.`;
    return wrongUsage(io, 'completion', `Say which shell: ${shells.join(', ')}.${what}`);
  }
  io.stdout.write(completionScript(shell, await load()));
  return exitCode.fine;
}

/** The part of a command that a script needs. */
type Completed = Pick<Command, 'name' | 'summary' | 'flags' | 'takes'>;

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

export function completionScript(shell: Shell, commands: readonly Completed[]): string {
  switch (shell) {
    case 'bash':
      return `${completionFunction(commands)}${bash}`;
    case 'zsh':
      return `#compdef svc\n${completionFunction(commands)}${zsh}`;
    case 'fish':
      return fish(commands);
    default:
      return shell satisfies never;
  }
}

/** `unknown`: a value follows, and the table does not list its values. */
type Values = readonly string[] | 'file' | 'unknown';

/** `--config` takes a file in every command. */
function valuesOf(name: string, { values }: FlagTable[string]): Values {
  return values ?? (name === 'config' ? 'file' : 'unknown');
}

/** The words that may follow each first word. The key '' has the words after the program's name. */
function wordsOf(commands: readonly Completed[]): ReadonlyMap<string, readonly string[]> {
  const words = new Map<string, string[]>([['', []]]);
  for (const { name } of commands) {
    const [first = '', second] = name.split(' ');
    const firsts = words.get('')!;
    if (!firsts.includes(first)) firsts.push(first);
    if (second !== undefined) words.set(first, [...(words.get(first) ?? []), second]);
  }
  const firsts = words.get('')!;
  return new Map([...words, ['help', [...firsts]], ['', [...firsts, 'help']]]);
}

function flagsOf({ flags }: Completed): readonly string[] {
  return [...Object.keys(flags), 'help'].map((name) => `--${name}`);
}

/**
 * A function of bash and zsh that prints the possible words, one per line. After a command these
 * are its arguments, after `<command> --` its flags, after `<command> --flag` the values of that
 * flag. A colon stands for files, a question mark for unknown values.
 */
function completionFunction(commands: readonly Completed[]): string {
  const lines = [...wordsOf(commands)].map(([first, words]) => caseOf(first, words));
  for (const command of commands) {
    const { name, flags, takes } = command;
    if (takes !== undefined) lines.push(caseOf(name, takes));
    lines.push(caseOf(`${name} --`, flagsOf(command)));
    for (const [flag, field] of Object.entries(flags)) {
      if (field.type !== 'boolean') lines.push(caseOf(`${name} --${flag}`, valuesOf(flag, field)));
    }
  }
  return `_svc_after() {\n  case "$1" in\n${lines.join('')}  esac\n}\n`;
}

function caseOf(pattern: string, values: Values): string {
  const printed = values === 'file' ? ':' : values === 'unknown' ? `'?'` : values.join(' ');
  return `    '${pattern}') printf '%s\\n' ${printed} ;;\n`;
}

/** Bash splits a word at `=`, so the flag is the word before the `=`. */
const bash = `_svc() {
  local IFS=$' \\t\\n' found='' key=''
  local word="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}"
  if [ "$before" = '=' ]; then before="\${COMP_WORDS[COMP_CWORD-2]}"; fi
  if [ "$word" = '=' ]; then word=''; before="\${COMP_WORDS[COMP_CWORD-1]}"; fi
  if [ "$COMP_CWORD" -gt 1 ]; then key="\${COMP_WORDS[1]}"; fi
  if [ "$COMP_CWORD" -gt 2 ] && [ -n "$(_svc_after "$key \${COMP_WORDS[2]} --")" ]; then
    key="$key \${COMP_WORDS[2]}"
  fi
  case "$before" in --?*) found="$(_svc_after "$key $before")" ;; esac
  if [ -z "$found" ]; then
    case "$word" in -*) found="$(_svc_after "$key --")" ;; *) found="$(_svc_after "$key")" ;; esac
  fi
  COMPREPLY=()
  if [ "$found" = ':' ]; then
    compopt -o filenames 2>/dev/null
    IFS=$'\\n'
    COMPREPLY=($(compgen -f -- "$word"))
  elif [ "$found" != '?' ]; then
    COMPREPLY=($(compgen -W "$found" -- "$word"))
  fi
}
complete -F _svc svc
`;

const zsh = `_svc() {
  local found='' key='' word="\${words[CURRENT]}" before="\${words[CURRENT-1]}"
  if [[ $word == --*=* ]]; then
    before="\${word%%=*}"
    compset -P '*='
  fi
  if (( CURRENT > 2 )); then key="\${words[2]}"; fi
  if (( CURRENT > 3 )) && [[ -n "$(_svc_after "$key \${words[3]} --")" ]]; then
    key="$key \${words[3]}"
  fi
  if [[ $before == --?* ]]; then found="$(_svc_after "$key $before")"; fi
  if [[ -z $found && $word == -* ]]; then found="$(_svc_after "$key --")"
  elif [[ -z $found ]]; then found="$(_svc_after "$key")"; fi
  case $found in
    :) _files ;;
    '?') ;;
    *) compadd -- \${(f)found} ;;
  esac
}
if [[ \${funcstack[1]} == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;

/** Fish also shows the summary of a command. */
function fish(commands: readonly Completed[]): string {
  const names = commands.map(({ name }) => quoted(name)).join(' ');
  const words = [...wordsOf(commands)].flatMap(([first, seconds]) =>
    seconds.map((second) => {
      const name = first === 'help' ? second : `${first} ${second}`.trim();
      const summary = commands.find((one) => one.name === name)?.summary;
      const description = summary === undefined ? '' : ` -d ${quoted(summary)}`;
      return `complete -c svc -n ${atCommand(first)} -a ${second}${description}\n`;
    }),
  );
  const rest = commands.flatMap(({ name, flags, takes }) => [
    ...(takes === undefined
      ? []
      : [`complete -c svc -n ${atCommand(name)} ${fishValues(takes)}\n`]),
    ...Object.entries(flags).map(([flag, field]) => {
      const values = field.type === 'boolean' ? '' : ` -r ${fishValues(valuesOf(flag, field))}`;
      return `complete -c svc -n ${atCommand(name)} -l ${flag}${values}\n`;
    }),
    `complete -c svc -n ${atCommand(name)} -l help\n`,
  ]);
  return `function __svc_at
  set -l words (commandline -opc)
  set -l key "$words[2]"
  if contains -- "$words[2] $words[3]" ${names}
    set key "$words[2] $words[3]"
  end
  test "$key" = "$argv[1]"
end
complete -c svc -f
${words.join('')}${rest.join('')}`;
}

function atCommand(command: string): string {
  return quoted(`__svc_at ${quoted(command)}`);
}

/** The script switches file names off; `-F` offers them again. */
function fishValues(values: Values): string {
  if (values === 'unknown') return '-f';
  return values === 'file' ? '-F' : `-f -a ${quoted(values.join(' '))}`;
}

function quoted(text: string): string {
  return `'${text.replaceAll('\\', String.raw`\\`).replaceAll("'", String.raw`\'`)}'`;
}
