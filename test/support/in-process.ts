/**
 * Commands of svc in this process, each with its own streams, variables and signals. Output and
 * exit codes are those of a separate process. Tests about the process itself (its end by a signal,
 * its memory, its terminal) use run-svc.ts and program.ts instead.
 */
import { tmpdir } from 'node:os';
import { PassThrough, Writable } from 'node:stream';
import type { Command, Io } from '../../src/cli/cli.ts';
import { runCommandLine } from '../../src/cli/commands.ts';
import type { KeychainLimits } from '../../src/app/keychain.ts';
import { createSecretLookup } from '../../src/app/secret-lookup.ts';
import { secret } from './program.ts';
import { root } from './run-svc.ts';
import { patienceMs, within } from './waiting.ts';

const patientLimits: KeychainLimits = {
  startMs: patienceMs,
  answerMs: patienceMs,
  promptMs: patienceMs,
};

export type Surroundings = {
  /** All of its variables: it sees none of this process's. */
  readonly env?: Io['env'];
  readonly cwd?: string;
  /** Its streams are those of one terminal: `out` and `err` both hold all of its text. */
  readonly terminal?: boolean;
  /** How long the command waits for a keychain; by default as long as a test waits. */
  readonly keychainLimits?: KeychainLimits;
  /** Runs instead of the command that the first word names. */
  readonly command?: Command;
};

export type Outcome = { readonly code: number; readonly out: string; readonly err: string };

export type CommandRun = AsyncDisposable & {
  /** The piped input, or the keys that a person types. */
  readonly input: Writable;
  /** All output so far. */
  out(): string;
  err(): string;
  /**
   * Resolves with the output when it matches; rejects when the command ends before.
   * @param from where to look, in characters of the output; the index found counts from its start
   */
  until(pattern: RegExp, stream?: 'out' | 'err', from?: number): Promise<RegExpExecArray>;
  /** Resolves with the exit code. */
  readonly ended: Promise<number>;
  /** Does the same as SIGHUP. */
  hangUp(): void;
  /** Does the same as SIGTERM and SIGINT; resolves with the exit code. */
  stop(): Promise<number>;
};

/** Begins `svc <args>`. Leaving the scope ends it, and abandons its open work. */
export function startCommand(args: readonly string[], surroundings: Surroundings = {}): CommandRun {
  const { env = {}, cwd = root, terminal = false, command } = surroundings;
  const { keychainLimits = patientLimits } = surroundings;
  const [stop, abandon] = [new AbortController(), new AbortController()];
  const out = new Heard();
  const err = terminal ? out : new Heard();
  const input = new PassThrough();
  let hangUp = (): void => stop.abort();
  const variables = { HOME: tmpdir(), ...env };
  const stderr = Object.assign(err, { isTTY: terminal });
  const io: Io = {
    stdin: Object.assign(input, { isTTY: terminal }),
    stdout: Object.assign(out, { isTTY: terminal }),
    stderr,
    env: variables,
    cwd,
    secrets: createSecretLookup({ env: variables, cwd, stderr, keychainLimits }),
    keychainLimits,
    stop: stop.signal,
    abandon: abandon.signal,
    onHangUp: (act) => (hangUp = act),
  };
  const ended = command?.run(args.slice(1), io) ?? runCommandLine(args, io);
  const over = (how: unknown): void => {
    const why = how instanceof Error ? how.stack : `code ${String(how)}`;
    const end = `ended (${why}), saying:\n${out.text}\n${err.text}`;
    for (const one of [out, err]) one.over(end);
  };
  // Its waiters receive its error; nobody else does.
  ended.then(over, over);
  return {
    input,
    out: () => out.text,
    err: () => err.text,
    until: (pattern, stream = 'out', from = 0) =>
      (stream === 'out' ? out : err).until(pattern, from),
    ended,
    hangUp: () => hangUp(),
    async stop() {
      stop.abort();
      const code = await ended;
      await settled();
      return code;
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      abandon.abort();
      await ended;
      await settled();
    },
  };
}

/** Runs `svc <args>` to its end. @param input its piped input */
export async function runCommand(
  args: readonly string[],
  { input = '', ...surroundings }: Surroundings & { readonly input?: string } = {},
): Promise<Outcome> {
  await using run = startCommand(args, surroundings);
  run.input.end(input);
  const code = await run.ended;
  return { code, out: run.out(), err: run.err() };
}

/** Waits until closed sockets are seen as closed, so that the next request opens a connection. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 2; turn++) await new Promise(setImmediate);
}

/** Collects the output, and wakes the waiters. */
class Heard extends Writable {
  text = '';
  /** How the command ended, with its output; null: it runs. */
  #end: string | null = null;
  readonly #watchers = new Set<() => void>();

  override _write(part: Buffer, _encoding: string, done: () => void): void {
    this.text += part.toString();
    for (const look of this.#watchers) look();
    done();
  }

  over(end: string): void {
    this.#end = end;
    for (const look of this.#watchers) look();
  }

  until(pattern: RegExp, from: number): Promise<RegExpExecArray> {
    const found = new Promise<RegExpExecArray>((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this.text.slice(from));
        if (match !== null) resolve(Object.assign(match, { index: from + match.index }));
        else if (this.#end !== null) reject(new Error(`${this.#end}, without ${pattern}`));
        else return;
        this.#watchers.delete(look);
      };
      this.#watchers.add(look);
      look();
    });
    return within(() => `${pattern} in:\n${this.text}`, found);
  }
}

export type Service = AsyncDisposable & {
  /** All of its output. */
  readonly log: () => string;
  /** Resolves once a line of the log holds the text. */
  saw(text: string): Promise<void>;
} & Pick<CommandRun, 'ended' | 'hangUp' | 'stop'>;

/** Begins `svc serve` on that file. @param flags besides the file's */
export function startServe(
  file: string,
  env: Io['env'] = {},
  flags: readonly string[] = [],
): Service {
  const run = startCommand(['serve', '--config', file, ...flags], { env });
  return {
    ...run,
    log: () => run.out() + run.err(),
    saw: async (text) => void (await run.until(new RegExp(RegExp.escape(text)), 'err')),
  };
}

/** `svc serve` on a config of program.ts, once it listens. */
export async function serveHere(
  file: string,
  port: number,
  env: Io['env'] = {},
): Promise<Service & { readonly url: string }> {
  const service = startServe(file, { WEBHOOK_SECRET: secret, ...env });
  await service.saw('"listening"');
  return { ...service, url: `http://127.0.0.1:${port}/webhook` };
}
