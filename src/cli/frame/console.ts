/**
 * A conversation over standard input and output, and single questions there. At a terminal there is
 * a prompt, and a reply grows while the model writes it. From a pipe every line is a message, and
 * only the replies go to standard output.
 *
 * prompt → (Enter) answering → prompt;  /quit, Ctrl-D, SIGTERM → over
 * Ctrl-C: answering → prompt;  a line with text → an empty line;  an empty line → over
 */
import { clearLine, createInterface, cursorTo, type Interface } from 'node:readline';
import { Writable, type Readable } from 'node:stream';
import { sentenceOf } from '../../pipeline/sentences.ts';
import type { Session } from '../chat-session.ts';
import { exitCode, type Io } from '../cli.ts';
import { explain } from '../explain.ts';
import { isColoured } from './report.ts';
import { plainLine, plainText } from '../../lib/plain-text.ts';
import { stopOf, unlessStopped } from '../../lib/stop.ts';

export type ConsoleOptions = {
  readonly io: Io;
  readonly explain: boolean;
  /** A sentence that says who answers. */
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
  /** Whether the terminal can erase a line. */
  readonly #canErase: boolean;
  /** False during an answer: typed keys must not appear in the middle of it. */
  #echoes = true;
  /** Lines that the person typed during an answer and that were not read yet. */
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
    const growing = new GrowingReply(this.#io, this.#showPlaceholder());
    const show = this.#atTerminal ? growing.show : undefined;
    const answer = await this.#session.ask(text, answering.signal, show);
    this.#answering = null;
    const { stderr } = this.#io;
    if (answering.signal.aborted) {
      growing.finish();
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
    if (this.#explain || decision.kind !== 'reply') stderr.write(this.#quietly(explain(answer)));
  }

  /** Dims lines that are not the reply, where the terminal has colours. */
  #quietly(lines: string): string {
    if (!isColoured(this.#io.stderr, this.#io.env)) return lines;
    return lines.replaceAll(/^.+$/gm, '\u001B[2m$&\u001B[22m');
  }

  /** Shows a placeholder, if the terminal can erase a line. @returns erases it */
  #showPlaceholder(): () => void {
    const { stdout } = this.#io;
    if (!this.#canErase) return () => {};
    stdout.write('…');
    return () => {
      cursorTo(stdout, 0);
      clearLine(stdout, 0);
    };
  }

  /** The output of readline: the terminal, except while typed keys must not appear. */
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

  /**
   * Asks for the next line, and restores the part of it that the person typed during the answer.
   */
  #prompt(lines: Interface): void {
    const typed = this.#echoes ? '' : lines.line;
    // Otherwise readline would clear the lines above: it takes them for its own.
    if (typed !== '') emptyLine(lines);
    this.#echoes = true;
    lines.prompt();
    if (typed !== '') lines.write(typed);
  }

  #interrupt(lines: Interface): void {
    if (this.#answering !== null) {
      this.#answering.abort();
    } else if (lines.line !== '') {
      // The line stays on the screen, and an empty one begins below it.
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
 * A reply on the screen while it grows. It erases no text, since the terminal may have wrapped and
 * scrolled it. A text that does not continue the shown one stands below it, whole.
 */
class GrowingReply {
  readonly #io: Pick<Io, 'stdout' | 'stderr'>;
  /** Erases the placeholder of the reply. */
  readonly #erase: () => void;
  #shown = '';

  constructor(io: Pick<Io, 'stdout' | 'stderr'>, erase: () => void) {
    this.#io = io;
    this.#erase = erase;
  }

  /** @param whole the reply so far */
  readonly show = (whole: string): void => {
    // The first half of a surrogate pair waits for the second half.
    const text = plainText(whole).replace(/\p{Surrogate}$/u, '');
    // A text that became shorter may grow again, so nothing is written.
    if (!this.#shown.startsWith(text)) this.#write(text, '');
  };

  /** Writes the final reply, so that it is the last text on the screen. */
  end(whole: string): void {
    this.#write(plainText(whole), '\n');
  }

  /** Ends the shown text. Another text follows. */
  breakOff(): void {
    const wasShown = this.#shown !== '';
    this.finish();
    if (wasShown) this.#io.stderr.write('The text above is not the reply.\n');
  }

  /** Ends the shown text. Nothing follows. */
  finish(): void {
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

/**
 * Asks a question at a terminal, and hides the answer.
 * @returns the answer without its line end; null: Ctrl-C, Ctrl-D or a stop came first
 */
export async function askHidden({ stdin, stderr, stop }: Io, question: string) {
  // In this mode the terminal itself echoes nothing, and the echo of readline goes to this sink.
  const sink = new Writable({ write: (_part, _encoding, done) => done() });
  const lines = createInterface({ input: stdin, output: sink, terminal: true, historySize: 0 });
  // The terminal echoes nothing from here on, even if the answer comes at once.
  stderr.write(question);
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const end = (): void => resolve(null);
  lines.once('line', resolve);
  lines.once('close', end);
  lines.once('SIGINT', end);
  try {
    return await unlessStopped(promise, stopOf(stop));
  } finally {
    lines.close();
    stderr.write('\n');
  }
}

type FirstLine = {
  /** Without its line end; null: it is too long. */
  readonly line: string | null;
  /** Whether the chunk has more than white space after the line: there are further lines. */
  readonly hasMore: boolean;
};

/**
 * Reads the first line of a stream, or all of it if there is no line end. Then it pauses the
 * stream.
 * @param charactersMax a longer line is not read to its end
 * @param stop ends the wait, with the text so far
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
