/**
 * A conversation over standard input and output. At a terminal there is a prompt, and a reply
 * grows while it is written; from a pipe every line is a message, and only the replies go to
 * standard output.
 *
 * at the prompt → (Enter) answering → at the prompt;  Ctrl-C: answering → at the prompt,
 * a line begun → an empty one, an empty one → over;  /quit, Ctrl-D, SIGTERM → over
 */
import { clearLine, createInterface, cursorTo, type Interface } from 'node:readline';
import { Writable, type Readable } from 'node:stream';
import { sentenceOf } from '../../pipeline/sentences.ts';
import type { Session } from '../chat-session.ts';
import { exitCode, type Io } from '../cli.ts';
import { explain } from '../explain.ts';
import { plainLine, plainText } from '../../lib/plain-text.ts';

export type ConsoleOptions = {
  readonly io: Io;
  readonly explain: boolean;
  /** Says who answers here. */
  readonly introduction: string;
};

/** @returns the exit code: from a pipe, 1 when a message got no answer */
export async function runConsole(session: Session, options: ConsoleOptions): Promise<number> {
  const chat = new Console(session, options);
  return chat.run();
}

class Console {
  readonly #session: Session;
  readonly #io: Io;
  readonly #explain: boolean;
  readonly #introduction: string;
  readonly #atTerminal: boolean;
  /** The terminal can take a line back. */
  readonly #canErase: boolean;
  /** False while an answer is under way: keys are not shown in its middle. */
  #echoes = true;
  /** Lines that were typed meanwhile and not taken yet. */
  #ahead = 0;
  #answering: AbortController | null = null;
  #unanswered = 0;
  #over = false;

  constructor(session: Session, options: ConsoleOptions) {
    this.#session = session;
    this.#io = options.io;
    this.#explain = options.explain;
    this.#introduction = options.introduction;
    this.#atTerminal = options.io.stdin.isTTY === true && options.io.stdout.isTTY === true;
    this.#canErase = this.#atTerminal && options.io.env['TERM'] !== 'dumb';
  }

  async run(): Promise<number> {
    const { stdin, stdout, stderr, stop } = this.#io;
    if (this.#atTerminal) {
      stderr.write(`${this.#introduction}\n/new starts a new conversation, /quit ends.\n\n`);
    }
    const output = this.#atTerminal ? { output: this.#canErase ? this.#echo() : stdout } : {};
    const lines = createInterface({ input: stdin, ...output, terminal: this.#atTerminal });
    const end = (): void => this.#end(lines);
    lines.on('SIGINT', () => this.#interrupt(lines));
    lines.on('line', () => {
      if (!this.#echoes) this.#ahead++;
    });
    stop.addEventListener('abort', end, { once: true });
    if (stop.aborted) end();
    lines.setPrompt('> ');
    if (this.#atTerminal && !this.#over) lines.prompt();
    for await (const line of lines) {
      if (this.#over) break;
      if (this.#ahead > 0) {
        this.#ahead--;
        stdout.write(`> ${plainLine(line)}\n`);
      }
      await this.#take(line.trim(), lines);
      if (this.#over) break;
      if (this.#atTerminal && this.#ahead === 0) this.#prompt(lines);
    }
    lines.close();
    stop.removeEventListener('abort', end);
    if (this.#atTerminal && !this.#over) stdout.write('\n');
    return this.#unanswered > 0 && !this.#atTerminal ? exitCode.failed : exitCode.fine;
  }

  async #take(text: string, lines: Interface): Promise<void> {
    if (text === '') return;
    if (text === '/quit') return this.#end(lines);
    if (text === '/new') {
      this.#session.startAfresh();
      this.#io.stderr.write('A new conversation begins.\n');
      return;
    }
    await this.#answer(text);
  }

  async #answer(text: string): Promise<void> {
    const answering = new AbortController();
    this.#answering = answering;
    this.#echoes = !this.#canErase;
    const growing = new GrowingReply(this.#io, this.#sayThinking());
    const show = this.#atTerminal ? growing.show : undefined;
    const answer = await this.#session.ask(text, answering.signal, show);
    this.#answering = null;
    const { stderr } = this.#io;
    if (answering.signal.aborted) {
      growing.leave();
      if (!this.#over) stderr.write('Given up.\n');
      this.#unanswered++;
      return;
    }
    const { decision } = answer;
    if (decision.kind === 'reply') {
      growing.end(decision.text);
    } else {
      growing.breakOff();
      stderr.write(`${sentenceOf(decision, Date.now())}\n`);
      this.#unanswered++;
    }
    // The sentence for senders names no reason, but the person at this console runs the service.
    if (this.#explain || decision.kind !== 'reply') stderr.write(explain(answer));
  }

  /** At a terminal that can take a line back. @returns takes it back */
  #sayThinking(): () => void {
    const { stdout } = this.#io;
    if (!this.#canErase) return () => {};
    stdout.write('…');
    return () => {
      cursorTo(stdout, 0);
      clearLine(stdout, 0);
    };
  }

  /** What readline writes to: the terminal, but for what it writes while nothing is to echo. */
  #echo(): Writable {
    const { stdout } = this.#io;
    const write = (part: unknown, _encoding: unknown, done: () => void): void => {
      if (this.#echoes) stdout.write(part);
      done();
    };
    const echo = new Writable({ decodeStrings: false, write });
    stdout.on('resize', () => echo.emit('resize'));
    return Object.defineProperty(echo, 'columns', { get: () => stdout.columns });
  }

  /** Asks for the next line, with what of it was typed while nothing was to echo. */
  #prompt(lines: Interface): void {
    const begun = this.#echoes ? '' : lines.line;
    // Else readline would clear the lines above, which it takes for its own.
    if (begun !== '') emptyLine(lines);
    this.#echoes = true;
    lines.prompt();
    if (begun !== '') lines.write(begun);
  }

  #interrupt(lines: Interface): void {
    if (this.#answering !== null) {
      this.#answering.abort();
    } else if (lines.line !== '') {
      // The line is left on the screen, and an empty one begins below it.
      this.#io.stdout.write('^C\n');
      emptyLine(lines);
      lines.prompt();
    } else {
      this.#io.stdout.write('\n');
      this.#end(lines);
    }
  }

  #end(lines: Interface): void {
    this.#over = true;
    this.#answering?.abort();
    lines.close();
  }
}

function emptyLine(lines: Interface): void {
  lines.write(null, { ctrl: true, name: 'e' });
  lines.write(null, { ctrl: true, name: 'u' });
}

/**
 * A reply on the screen, from its beginning on. Nothing is taken back, since a terminal has wrapped
 * and scrolled it: a text that does not go on from what is shown stands below it, whole.
 */
class GrowingReply {
  readonly #io: Pick<Io, 'stdout' | 'stderr'>;
  /** Takes back what stands in the reply's place. */
  readonly #erase: () => void;
  #shown = '';

  constructor(io: Pick<Io, 'stdout' | 'stderr'>, erase: () => void) {
    this.#io = io;
    this.#erase = erase;
  }

  /** @param whole the reply so far */
  readonly show = (whole: string): void => {
    // Half a character waits for its other half.
    const text = plainText(whole).replace(/\p{Surrogate}$/u, '');
    // A text that became shorter may grow again.
    if (!this.#shown.startsWith(text)) this.#write(text, '');
  };

  /** @param whole the reply: what stands last is this */
  end(whole: string): void {
    this.#write(plainText(whole), '\n');
  }

  /** Another text comes. */
  breakOff(): void {
    const wasShown = this.#shown !== '';
    this.leave();
    if (wasShown) this.#io.stderr.write('The text above is not the reply.\n');
  }

  /** No more of it comes. */
  leave(): void {
    if (this.#shown === '') this.#erase();
    else this.#io.stdout.write('\n');
    this.#shown = '';
  }

  #write(text: string, end: string): void {
    if (this.#shown === '') this.#erase();
    else if (!text.startsWith(this.#shown)) this.breakOff();
    this.#io.stdout.write(text.slice(this.#shown.length) + end);
    this.#shown = text;
  }
}

// A question at a terminal whose answer is not shown.

/** @returns what was typed, without its line end; null: Ctrl-C, Ctrl-D or a stop came first */
export async function askHidden({ stdin, stderr, stop }: Io, question: string) {
  // The terminal echoes nothing while keys are read one by one, and what would be shown goes here.
  const nowhere = new Writable({ write: (_part, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: nowhere, terminal: true, historySize: 0 });
  // By now it echoes no more, however soon the answer comes.
  stderr.write(question);
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const end = (): void => resolve(null);
  lines.once('line', resolve);
  lines.once('close', end);
  lines.once('SIGINT', end);
  stop.addEventListener('abort', end, { once: true });
  if (stop.aborted) end();
  try {
    return await promise;
  } finally {
    stop.removeEventListener('abort', end);
    lines.close();
    stderr.write('\n');
  }
}

type FirstLine = {
  /** Without its end; null: it is longer than it may be. */
  readonly line: string | null;
  /** What came in the same part and is more than white space: there are further lines. */
  readonly hasMore: boolean;
};

/**
 * The first line of a stream, or all of it where it has no line end. The stream is paused after it.
 * @param charactersMax a longer line is not read to its end
 * @param stop ends the wait, with what came so far
 */
export function readFirstLine(
  stream: Readable,
  charactersMax: number,
  stop: AbortSignal,
): Promise<FirstLine> {
  return new Promise((resolve) => {
    const decoder = new TextDecoder();
    let text = '';
    const end = (): void => {
      stream.removeListener('data', take).removeListener('end', end).removeListener('error', end);
      stop.removeEventListener('abort', end);
      stream.pause();
      const at = text.search(/\r?\n/);
      const line = at < 0 ? text : text.slice(0, at);
      const hasMore = at >= 0 && text.slice(at).trim() !== '';
      resolve({ line: line.length > charactersMax ? null : line, hasMore });
    };
    const take = (part: Buffer | string): void => {
      text += typeof part === 'string' ? part : decoder.decode(part, { stream: true });
      if (text.includes('\n') || text.length > charactersMax) end();
    };
    stream.on('data', take).once('end', end).once('error', end);
    stop.addEventListener('abort', end, { once: true });
    if (stop.aborted || stream.readableEnded) end();
  });
}
