/**
 * The first run as a page in the person's browser. The terminal where it began decides which page
 * gets in: it prints what happens, and Enter there opens a new page.
 *
 * inviting (a code is valid for 60 s) → signed in → over (the last page was shown, or Ctrl-C)
 */
import { aborted } from '../../lib/stop.ts';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { endsWithin } from '../../lib/lifetime.ts';
import { describeBindError } from '../../lib/listener.ts';
import {
  openerFor,
  openInBrowser,
  writeRedirectFile,
  type RedirectFile,
} from '../../lib/person-browser.ts';
import { codeMs, type Traded } from '../../admin/http/sign-in.ts';
import { openWizardServer, type WizardServer } from '../../../apps/setup/browser/wizard-server.ts';
import type { Choice, SetupEnd, SetupSession } from '../../../apps/setup/setup.ts';
import type { Io } from '../cli.ts';
import { packageRoot } from '../../lib/program.ts';

type Surroundings = Pick<Io, 'stdin' | 'stderr' | 'env' | 'stop'> & {
  readonly platform?: NodeJS.Platform;
};

export type FrontendTimes = {
  /** How long a browser may take to show its page before the terminal prints the link too. */
  readonly pageMs: number;
  /** How long the terminal waits for somebody to use a code. */
  readonly codeMs: number;
  /** How long the end waits for a page that does not show it yet. */
  readonly lastPageMs: number;
};

const frontendTimes: FrontendTimes = { pageMs: 10_000, codeMs, lastPageMs: 5_000 };

/**
 * Leads a person through the session on a page of their browser.
 * @param io its `stop` must also end a service that the session started
 * @returns how the session ended; everything it started runs until then. It ends by itself only if
 * nobody can come any more: no code is valid, and nobody is there to ask for another.
 */
export async function showInBrowser(
  session: SetupSession,
  io: Surroundings,
  times: FrontendTimes = frontendTimes,
): Promise<SetupEnd> {
  return new BrowserFrontend(session, io, times).run();
}

class BrowserFrontend {
  readonly #session: SetupSession;
  readonly #io: Surroundings;
  readonly #waits: FrontendTimes;
  /** Resolves when the last page was sent. */
  readonly #shown = Promise.withResolvers<void>();
  /** Resolves when nobody can sign in any more. */
  readonly #abandoned = Promise.withResolvers<void>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #file: RedirectFile | null = null;
  #isSignedIn = false;
  #isInviting = false;
  #isClosed = false;
  #canAskAgain = true;
  /** Whether a code is valid, as far as is known here. */
  #hasCode = true;

  constructor(session: SetupSession, io: Surroundings, times: FrontendTimes) {
    this.#session = session;
    this.#io = io;
    this.#waits = times;
  }

  async run(): Promise<SetupEnd> {
    const server = await openWizardServer({
      session: this.#session,
      webRoot: fileURLToPath(new URL('web/dist/', packageRoot())),
      onShown: (revision) => this.#pageShown(revision),
      onTraded: (traded) => this.#codeTraded(traded),
      onFault: (error) => this.#print(`svc init: a bug in svc itself: ${String(error)}`),
    });
    if ('code' in server) return { kind: 'failed', message: describeBindError(server.code, 0) };
    const lines = this.#listen(server);
    const { ended } = this.#session;
    try {
      void this.#invite(server);
      await Promise.race([
        ended,
        this.#shown.promise,
        this.#abandoned.promise,
        aborted(this.#io.stop),
      ]);
      const isWatched = this.#isSignedIn && !this.#io.stop.aborted;
      if (isWatched) await endsWithin(this.#shown.promise, this.#waits.lastPageMs);
    } finally {
      this.#isClosed = true;
      lines.close();
      this.#clearCode();
      await server[Symbol.asyncDispose]();
    }
    if (this.#session.page.step !== 'last') await this.#leave();
    else await this.#printDone();
    return ended;
  }

  async #printDone(): Promise<void> {
    if (this.#io.stop.aborted) return;
    const isOver = await endsWithin(this.#session.ended, 0);
    this.#print(`The page is done.${isOver ? '' : ' svc runs on here; Ctrl-C ends it.'}`);
  }

  /** Leaves the session at its present page. The signal ends a service that it started. */
  async #leave(): Promise<void> {
    const { ended } = this.#session;
    let isOver = false;
    const over = ended.then(() => (isOver = true));
    for (;;) {
      const { revision, page } = this.#session;
      // A bug may end the session on any page.
      if (page.step === 'last' || isOver) return;
      const leave = page.choices.find(({ role }) => role === 'leave') ?? page.choices.find(isDone);
      if (leave === undefined) await Promise.race([this.#session.changed(revision), over]);
      else this.#session.answer({ choice: leave.id, fields: {} }, revision);
    }
  }

  /** Each line asks for a new page; its text is ignored. */
  #listen(server: WizardServer): { close(): void } {
    const lines = createInterface({ input: this.#io.stdin, terminal: false });
    lines.on('line', () => void this.#invite(server));
    lines.on('close', () => {
      this.#canAskAgain = false;
      this.#endIfAbandoned();
    });
    return lines;
  }

  async #invite(server: WizardServer): Promise<void> {
    if (this.#isInviting) return;
    this.#isInviting = true;
    this.#clearCode();
    const url = server.offer();
    this.#hasCode = true;
    this.#schedule(this.#waits.codeMs, () => this.#codeExpired());
    const isOpened = await this.#open(url);
    this.#isInviting = false;
    // The code was used, or the wait was over, before the opener had ended.
    if (this.#isClosed || !this.#hasCode) return this.#clearCode();
    const here =
      `in a browser on this machine:\n\n  ${url}\n\n` +
      'The link is good for one minute, and for one page. Ctrl-C ends svc.';
    if (!isOpened) return this.#print(`Open this ${here}`);
    this.#print('A page opens in your browser: the first run goes on there. Ctrl-C ends svc.');
    this.#schedule(this.#waits.pageMs, () => this.#print(`If no page came, open this ${here}`));
  }

  async #open(url: string): Promise<boolean> {
    const { env, platform = process.platform } = this.#io;
    try {
      this.#file = writeRedirectFile(url, env);
      const opener = openerFor(this.#file.path, platform, env);
      if (opener !== null && (await openInBrowser(opener, env))) return true;
    } catch {
      // If no file can be written, the terminal prints the link instead.
    }
    this.#removeFile();
    return false;
  }

  /** Ends the wait if no page is signed in and none can come. */
  #endIfAbandoned(): void {
    if (!this.#canAskAgain && !this.#hasCode && !this.#isSignedIn) this.#abandoned.resolve();
  }

  #codeTraded(traded: Traded): void {
    if (traded.kind === 'token') {
      this.#hasCode = false;
      this.#clearCode();
      this.#isSignedIn = true;
      return this.#print(`The page is there. Enter opens another in its place.`);
    }
    if (traded.why !== 'used_twice') return;
    this.#isSignedIn = false;
    this.#print(
      'The link was used a second time, so somebody else may have it: the page is signed out. ' +
        'Enter opens a new one, Ctrl-C ends svc.',
    );
    this.#endIfAbandoned();
  }

  #codeExpired(): void {
    this.#clearCode();
    this.#hasCode = false;
    const how = this.#canAskAgain ? 'Enter opens another.' : 'Run it again where a browser is.';
    this.#print(`No page came within a minute, and the link is too old now. ${how}`);
    this.#endIfAbandoned();
  }

  #pageShown(revision: number): void {
    const { page, revision: now } = this.#session;
    if (page.step === 'last' && revision === now) this.#shown.resolve();
  }

  /** Ends everything that waits for a code that was used or replaced. */
  #clearCode(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#removeFile();
  }

  #removeFile(): void {
    this.#file?.[Symbol.dispose]();
    this.#file = null;
  }

  #schedule(ms: number, act: () => void): void {
    this.#timers.add(setTimeout(act, ms));
  }

  #print(text: string): void {
    this.#io.stderr.write(`${text}\n`);
  }
}

const isDone = ({ id }: Choice): boolean => id === 'done';
