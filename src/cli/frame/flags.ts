/** Parses the arguments of a command by its table of flags. */
import { parseArgs } from 'node:util';
import { nearest } from '../../config/nearest.ts';
import { exitCode, type FlagTable, type Io } from '../cli.ts';

export type Flags<Table extends FlagTable> = {
  readonly [Name in keyof Table]: FlagValues[Table[Name]['type']];
};

type FlagValues = {
  readonly boolean: boolean;
  readonly string: string | null;
  readonly strings: readonly string[];
};

export type ParsedFlags<Table extends FlagTable> =
  | {
      readonly kind: 'parsed';
      readonly flags: Flags<Table>;
      readonly positionals: readonly string[];
    }
  /** `message` says what is wrong, in one sentence. */
  | { readonly kind: 'wrong'; readonly message: string };

const absent = { boolean: false, string: null, strings: [] } as const satisfies FlagValues;

/**
 * Reads the arguments of a command: `--name value`, `--name=value`, `--name`, and `--` before
 * arguments that begin with a dash.
 * @param most how many arguments besides flags the command takes
 */
export function parseFlags<const Table extends FlagTable>(
  args: readonly string[],
  table: Table,
  most = 0,
): ParsedFlags<Table> {
  const options = Object.fromEntries(
    Object.entries(table).map(([name, { type }]) => {
      return [name, { type: type === 'boolean' ? type : ('string' as const) }];
    }),
  );
  const { tokens } = parseArgs({
    args: [...args],
    options,
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const flags: Record<string, FlagValues[keyof FlagValues]> = {};
  for (const [name, { type }] of Object.entries(table)) flags[name] = absent[type];
  const positionals: string[] = [];
  for (const token of tokens) {
    if (token.kind === 'positional') positionals.push(token.value);
    if (token.kind !== 'option') continue;
    const { name, rawName, value } = token;
    const flag = Object.hasOwn(table, name) ? table[name] : undefined;
    if (flag === undefined) return wrong(unknownFlag(rawName, Object.keys(table)));
    if (flag.type === 'boolean' && value !== undefined) {
      return wrong(`${rawName} takes no value.`);
    }
    // Ids of Telegram groups are negative numbers, and no flag is a number.
    const swallowed = token.inlineValue === false && /^-(?!\d+(:\d+)?$)./.test(value ?? '');
    if (flag.type !== 'boolean' && (value === undefined || value === '' || swallowed)) {
      return wrong(`${rawName} needs a value after it.`);
    }
    if (flag.type === 'strings') flags[name] = [...(flags[name] as readonly string[]), value!];
    else flags[name] = flag.type === 'boolean' ? true : value!;
  }
  const extra = positionals[most];
  if (extra !== undefined) return wrong(`"${extra}" is one argument too many.`);
  return { kind: 'parsed', flags: flags as Flags<Table>, positionals };
}

/** Prints what is wrong with the arguments. @returns the exit code */
export function wrongUsage(io: Io, command: string, message: string): number {
  io.stderr.write(`svc ${command}: ${message}\nSee "svc help ${command}".\n`);
  return exitCode.usage;
}

/** @returns the whole number from `least` to `most`, or null */
export function wholeNumber(text: string, least: number, most: number): number | null {
  const number = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return number >= least && number <= most ? number : null;
}

function wrong(message: string): { kind: 'wrong'; message: string } {
  return { kind: 'wrong', message };
}

function unknownFlag(written: string, names: readonly string[]): string {
  const near = nearest(written.replace(/^-+/, ''), [...names, 'help']);
  const hint = near === null ? '' : ` Did you mean --${near}?`;
  return `There is no flag ${written} here.${hint}`;
}
