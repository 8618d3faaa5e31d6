/**
 * A conversation over standard input and output. At a terminal there is a prompt; from a pipe
 * every line is a message, and only the replies go to standard output.
 *
 * at the prompt → (Enter) answering → at the prompt;  Ctrl-C: answering → at the prompt,
 * a line begun → an empty one, an empty one → over;  /quit, Ctrl-D, SIGTERM → over
 */
import { clearLine, createInterface, cursorTo, type Interface } from 'node:readline';
import { sentenceOf } from '../../flow/sentences.ts';
import type { Session } from '../chat-session.ts';
import { exitCode, type Io } from '../cli.ts';
import { explain } from '../explain.ts';
import { plainText } from '../../lib/plain-text.ts';

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
  #answering: AbortController | null = null;
  #unanswered = 0;
  #over = false;

  constructor(session: Session, options: ConsoleOptions) {
    this.#session = session;
    this.#io = options.io;
    this.#explain = options.explain;
    this.#introduction = options.introduction;
    this.#atTerminal = options.io.stdin.isTTY === true && options.io.stdout.isTTY === true;
  }

  async run(): Promise<number> {
    const { stdin, stdout, stderr, stop } = this.#io;
    if (this.#atTerminal) {
      stderr.write(`${this.#introduction}\n/new starts a new conversation, /quit ends.\n\n`);
    }
    const output = this.#atTerminal ? { output: stdout } : {};
    const lines = createInterface({ input: stdin, ...output, terminal: this.#atTerminal });
    const end = (): void => this.#end(lines);
    lines.on('SIGINT', () => this.#interrupt(lines));
    stop.addEventListener('abort', end, { once: true });
    if (stop.aborted) end();
    lines.setPrompt('> ');
    if (this.#atTerminal && !this.#over) lines.prompt();
    for await (const line of lines) {
      if (this.#over) break;
      await this.#take(line.trim(), lines);
      if (this.#over) break;
      if (this.#atTerminal) lines.prompt();
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
    const erase = this.#sayThinking();
    const answer = await this.#session.ask(text, answering.signal);
    erase();
    this.#answering = null;
    const { stdout, stderr } = this.#io;
    if (answering.signal.aborted) {
      if (!this.#over) stderr.write('Given up.\n');
      this.#unanswered++;
      return;
    }
    const { decision } = answer;
    if (decision.kind === 'reply') {
      stdout.write(`${plainText(decision.text)}\n`);
    } else {
      stderr.write(`${sentenceOf(decision, Date.now())}\n`);
      this.#unanswered++;
    }
    // The sentence for senders names no reason, but the person at this console runs the service.
    if (this.#explain || decision.kind !== 'reply') stderr.write(explain(answer));
  }

  /** At a terminal that can take a line back. @returns takes it back */
  #sayThinking(): () => void {
    const { stdout, env } = this.#io;
    if (!this.#atTerminal || env['TERM'] === 'dumb') return () => {};
    stdout.write('…');
    return () => {
      cursorTo(stdout, 0);
      clearLine(stdout, 0);
    };
  }

  #interrupt(lines: Interface): void {
    if (this.#answering !== null) {
      this.#answering.abort();
    } else if (lines.line !== '') {
      // The line is left on the screen, and an empty one begins below it.
      this.#io.stdout.write('^C\n');
      lines.write(null, { ctrl: true, name: 'e' });
      lines.write(null, { ctrl: true, name: 'u' });
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
