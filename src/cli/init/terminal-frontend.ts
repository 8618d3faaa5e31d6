/**
 * The first run at a terminal. It shows the pages of a session as they come, and takes a number or
 * a letter for a choice. It does not show text that is typed into a secret field. Ctrl-C and the
 * end of the input leave.
 */
import type {
  Choice,
  Field,
  Line,
  Page,
  SetupEnd,
  SetupSession,
} from '../../../apps/setup/setup.ts';
import type { Io } from '../cli.ts';
import { plainText } from '../../lib/plain-text.ts';
import { isColoured, signOf } from '../frame/report.ts';
import { createInterface, type Interface } from 'node:readline';
import { Writable } from 'node:stream';

/** Work that takes less time than this is not shown. */
const briefMs = 300;

export class TerminalFrontend {
  readonly #session: SetupSession;
  readonly #io: Io;
  readonly #stopService: () => void;
  readonly #reader: LineReader;
  readonly #quitting = new AbortController();
  /** Whether the last page was shown. */
  #wasLast = false;

  /** @param stopService ends a service that the session started */
  constructor(session: SetupSession, io: Io, stopService: () => void) {
    this.#session = session;
    this.#io = io;
    this.#stopService = stopService;
    this.#reader = new LineReader(io, () => this.#quit());
  }

  /** Resolves when the session is over, and a service that it started has ended. */
  async run(): Promise<SetupEnd> {
    const { stop } = this.#io;
    const quit = (): void => this.#quit();
    stop.addEventListener('abort', quit, { once: true });
    if (stop.aborted) quit();
    const { ended } = this.#session;
    try {
      const over = new AbortController();
      const pages = this.#showPages(over.signal);
      await Promise.race([ended, pages]);
      over.abort();
      await pages;
      const end = await ended;
      if (!this.#wasLast) this.#showLast(this.#session.page);
      return end;
    } finally {
      stop.removeEventListener('abort', quit);
      this.#reader.close();
    }
  }

  #quit(): void {
    this.#quitting.abort();
    this.#stopService();
  }

  /** Shows pages until the last one was shown. */
  async #showPages(over: AbortSignal): Promise<void> {
    while (!over.aborted) {
      const { revision, page } = this.#session;
      if (page.step === 'last') return this.#showLast(page);
      const pageGone = new AbortController();
      const signal = AbortSignal.any([pageGone.signal, over]);
      const changed = this.#session.changed(revision, signal).catch(() => {});
      try {
        if (this.#quitting.signal.aborted) await this.#leave(page, revision, changed);
        else await this.#handlePage(page, revision, changed);
      } finally {
        pageGone.abort();
      }
    }
  }

  /** Leaves the session, or waits for the next page if this one cannot be left. */
  async #leave({ choices }: Page, revision: number, changed: Promise<void>): Promise<void> {
    const leave = choices.find(({ role }) => role === 'leave') ?? choices.find(isDone);
    if (leave === undefined) return changed;
    this.#session.answer({ choice: leave.id, fields: {} }, revision);
  }

  async #handlePage(page: Page, revision: number, changed: Promise<void>): Promise<void> {
    const over = new AbortController();
    void changed.then(() => over.abort());
    const signal = AbortSignal.any([over.signal, this.#quitting.signal]);
    if (page.work !== null && (await isWithin(changed, briefMs))) return;
    if (signal.aborted) return;
    this.#show(page);
    const slow = this.#scheduleSlowNote(page);
    try {
      const choice = await this.#choose(page, signal);
      if (choice === null) return await (this.#quitting.signal.aborted ? undefined : changed);
      const fields = await this.#fill(choice, page.fields, signal);
      if (fields === null || signal.aborted) return;
      const taken = this.#session.answer({ choice: choice.id, fields }, revision);
      if (taken === 'not_offered') this.#io.stdout.write('  Something is missing there.\n');
    } finally {
      clearTimeout(slow);
    }
  }

  #scheduleSlowNote({ work }: Page): NodeJS.Timeout | undefined {
    if (work?.slow == null) return undefined;
    const { text, afterMs } = work.slow;
    return setTimeout(() => this.#reader.print(`  ${text}`), afterMs);
  }

  /**
   * While the page shows work in progress, Enter alone is no answer.
   * @returns null: the page is gone
   */
  async #choose({ choices, work }: Page, signal: AbortSignal): Promise<Choice | null> {
    if (choices.length === 0) return null;
    const keys = keysOf(choices);
    const usual = work === null ? keys[0]! : '';
    const prompt = usual === '' ? '> ' : `[${usual}] > `;
    for (;;) {
      const typed = await this.#reader.line(prompt, signal);
      if (typed === null) return null;
      const key = typed.trim().toLowerCase() || usual;
      if (key === '') continue;
      const at = keys.indexOf(key);
      if (at >= 0) return choices[at]!;
      this.#io.stdout.write(`  Type one of: ${keys.join(', ')}.\n`);
    }
  }

  /** @returns null: a required field was left empty, or the page is gone */
  async #fill(
    { takes }: Choice,
    fields: readonly Field[],
    signal: AbortSignal,
  ): Promise<Record<string, string> | null> {
    const values: Record<string, string> = {};
    for (const { name, label, kind, value, isOptional } of fields) {
      if (!takes.includes(name)) continue;
      const usual = value === '' ? '' : ` [${value}]`;
      const shown = `  ${label}${usual}: `;
      const typed =
        kind === 'secret'
          ? await this.#reader.hidden(`  ${label} (it is not shown): `, signal)
          : await this.#reader.line(shown, signal);
      if (typed === null) return null;
      const filled = typed.trim() === '' ? value : typed;
      if (filled === '' && !isOptional) return null;
      values[name] = filled;
    }
    return values;
  }

  #showLast(page: Page): void {
    this.#wasLast = true;
    // Closed before the person reads the page: from here on Ctrl-C is a signal, and stops svc as it
    // stops `serve`.
    this.#reader.close();
    this.#show(page);
  }

  #show({ title, lines, choices, work }: Page): void {
    const keys = keysOf(choices);
    const texts = lines.map((line) => this.#lineOf(line));
    const workLines = work === null ? [] : [`  ${work.text}`];
    const offers = choices.map(({ label, hint }, at) => {
      const more = hint === null ? '' : `\n       ${plainText(hint)}`;
      return `  ${keys[at]!.padStart(2)}  ${plainText(label)}${more}`;
    });
    const parts = [title, ...texts, ...workLines, ...offers];
    this.#io.stdout.write(`\n${parts.join('\n')}\n`);
  }

  #lineOf({ kind, text }: Line): string {
    const isPlain = !isColoured(this.#io.stdout, this.#io.env);
    const words = plainText(text).replaceAll('\n', '\n    ');
    switch (kind) {
      case 'text':
        return `  ${words}`;
      case 'code':
        return `    ${words}`;
      case 'quote':
        return `    “${words}”`;
      case 'good':
        return `${signOf('ok', !isPlain)} ${words}`;
      case 'bad':
        return `${signOf('failed', !isPlain)} ${words}`;
      default:
        return kind satisfies never;
    }
  }
}

/** Numbers for the choices that lead on, letters for back and leave. */
function keysOf(choices: readonly Choice[]): readonly string[] {
  let count = 0;
  return choices.map(({ id, role }) => {
    if (role === 'leave') return 'q';
    return id === 'back' ? 'b' : String(++count);
  });
}

function isDone({ id }: Choice): boolean {
  return id === 'done';
}

async function isWithin(awaited: Promise<void>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<false>();
  const timer = setTimeout(() => late.resolve(false), ms);
  return Promise.race([awaited.then(() => true), late.promise]).finally(() => clearTimeout(timer));
}

/** Reads one line after the other from a terminal. A hidden line appears nowhere. */
class LineReader {
  readonly #lines: Interface;
  readonly #out: Io['stdout'];
  #isHidden = false;
  #isClosed = false;
  #prompt = '';

  /** @param quit is called at Ctrl-C, and at the end of the input */
  constructor({ stdin, stdout }: Io, quit: () => void) {
    this.#out = stdout;
    const shown = new Writable({
      write: (part: Buffer, _encoding, done) => {
        if (!this.#isHidden) stdout.write(part);
        done();
      },
    });
    // There is no history to go back to: some lines are secret.
    const settings = { input: stdin, output: shown, terminal: true, historySize: 0 };
    this.#lines = createInterface(settings);
    this.#lines.on('SIGINT', () => {
      stdout.write('\n');
      quit();
    });
    this.#lines.on('close', () => {
      const isOwn = this.#isClosed;
      // Set before the callback: nothing can be written to the input from now on.
      this.#isClosed = true;
      if (!isOwn) quit();
    });
  }

  /** @returns null: the signal came first, or there is no more input */
  line(prompt: string, signal: AbortSignal): Promise<string | null> {
    this.#prompt = prompt;
    return this.#next(prompt, signal);
  }

  /** Like `line`, but hides the typed text. */
  async hidden(prompt: string, signal: AbortSignal): Promise<string | null> {
    this.#out.write(prompt);
    this.#isHidden = true;
    try {
      return await this.#next('', signal);
    } finally {
      this.#isHidden = false;
      this.#out.write('\n');
    }
  }

  /** Prints text above the line that the person is typing. */
  print(text: string): void {
    this.#out.write(`\n${text}\n${this.#prompt}`);
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#lines.close();
  }

  #next(prompt: string, signal: AbortSignal): Promise<string | null> {
    if (signal.aborted || this.#isClosed) return Promise.resolve(null);
    const lines = this.#lines;
    return new Promise((resolve) => {
      const end = (typed: string | null): void => {
        signal.removeEventListener('abort', gone);
        lines.removeListener('line', end).removeListener('close', gone);
        resolve(typed);
      };
      const gone = (): void => {
        // The unfinished line belongs to a page that is gone.
        if (!this.#isClosed) lines.write(null, { ctrl: true, name: 'u' });
        end(null);
      };
      lines.once('line', end);
      lines.once('close', gone);
      signal.addEventListener('abort', gone, { once: true });
      lines.setPrompt(prompt);
      lines.prompt();
    });
  }
}
