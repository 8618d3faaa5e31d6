/**
 * The first run as a page in the person's browser. The terminal where it was begun stays the place
 * that lets a page in: it says what happens, and Enter there opens the page anew.
 *
 * inviting (a code is good for 60 s) → signed in → over (the last page is shown, or Ctrl-C)
 */
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { endsWithin } from '../../lib/lifetime.ts';
import { sayUnbound } from '../../lib/unbound.ts';
import { openerFor, openInBrowser } from '../../setup/browser/person-browser.ts';
import { writeRedirectFile, type RedirectFile } from '../../setup/browser/redirect-file.ts';
import { codeMs, type Traded } from '../../setup/browser/sign-in.ts';
import { openWizardServer, type WizardServer } from '../../setup/browser/wizard-server.ts';
import type { SetupEnd, SetupSession } from '../../setup/setup.ts';
import type { Io } from '../cli.ts';
import { packageRoot } from '../frame/program.ts';

type Surroundings = Pick<Io, 'stdin' | 'stderr' | 'env' | 'stop'> & {
  readonly platform?: NodeJS.Platform;
};

/** How long a browser may take to show its page before the link is told as well. */
const pageMs = 10_000;
/** How long the end waits for a page that has still to be told of it. */
const lastPageMs = 5_000;

/**
 * Leads a person through the session on a page of their browser.
 * @returns how the session ended; what it started runs until then. It ends the session itself only
 *   where nobody can come any more: no code is good, and nobody is there to ask for another.
 */
export async function showInBrowser(session: SetupSession, io: Surroundings): Promise<SetupEnd> {
  return new BrowserFace(session, io).run();
}

class BrowserFace {
  readonly #session: SetupSession;
  readonly #io: Surroundings;
  /** The last page has gone out. */
  readonly #shown = Promise.withResolvers<void>();
  /** Nobody can sign in any more. */
  readonly #alone = Promise.withResolvers<void>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #file: RedirectFile | null = null;
  #isSignedIn = false;
  #isInviting = false;
  #isClosed = false;
  #canAskAgain = true;

  constructor(session: SetupSession, io: Surroundings) {
    this.#session = session;
    this.#io = io;
  }

  async run(): Promise<SetupEnd> {
    const server = await openWizardServer({
      session: this.#session,
      webRoot: fileURLToPath(new URL('web/dist/', packageRoot())),
      onShown: (revision) => this.#showed(revision),
      onTraded: (traded) => this.#traded(traded),
      onFault: (error) => this.#say(`svc init: a bug in svc itself: ${String(error)}`),
    });
    if ('code' in server) return { kind: 'failed', message: sayUnbound(server.code, 0) };
    const lines = this.#listen(server);
    const { ended } = this.#session;
    try {
      void this.#invite(server);
      await Promise.race([ended, this.#shown.promise, this.#alone.promise, aborted(this.#io.stop)]);
      const isWatched = this.#isSignedIn && !this.#io.stop.aborted;
      if (isWatched) await endsWithin(this.#shown.promise, lastPageMs);
    } finally {
      this.#isClosed = true;
      lines.close();
      this.#settle();
      await server[Symbol.asyncDispose]();
    }
    if (!this.#isOver) await this.#session[Symbol.asyncDispose]();
    return ended;
  }

  get #isOver(): boolean {
    return this.#session.page.step === 'last' && !this.#io.stop.aborted;
  }

  /** Each line asks for a new page; the line itself is looked at by nobody. */
  #listen(server: WizardServer): { close(): void } {
    const lines = createInterface({ input: this.#io.stdin, terminal: false });
    lines.on('line', () => void this.#invite(server));
    lines.on('close', () => {
      this.#canAskAgain = false;
    });
    return lines;
  }

  async #invite(server: WizardServer): Promise<void> {
    if (this.#isInviting) return;
    this.#isInviting = true;
    this.#settle();
    const url = server.offer();
    this.#later(codeMs, () => this.#expired());
    const isOpened = await this.#open(url);
    this.#isInviting = false;
    if (this.#isClosed) return this.#settle();
    const here = `  ${url}\n\nThe link is good for one minute, and for one page.`;
    if (!isOpened) {
      return this.#say(`Open this in a browser on this machine:\n\n${here} Ctrl-C ends svc.`);
    }
    this.#say('A page opens in your browser: the first run goes on there. Ctrl-C ends svc.');
    this.#later(pageMs, () => this.#say(`If no page came, open this in a browser:\n\n${here}`));
  }

  async #open(url: string): Promise<boolean> {
    const { env, platform = process.platform } = this.#io;
    try {
      this.#file = writeRedirectFile(url, env);
      const opener = openerFor(this.#file.path, platform, env);
      if (opener !== null && (await openInBrowser(opener, env))) return true;
    } catch {
      // Where no file can be written the link is told instead.
    }
    this.#forget();
    return false;
  }

  #traded(traded: Traded): void {
    if (traded.kind === 'token') {
      this.#settle();
      this.#isSignedIn = true;
      return this.#say(`The page is there. Enter opens another in its place.`);
    }
    if (traded.why !== 'used_twice') return;
    this.#isSignedIn = false;
    this.#say(
      'The link was used a second time, so somebody else may have it: the page is signed out. ' +
        'Enter opens a new one, Ctrl-C ends svc.',
    );
    if (!this.#canAskAgain) this.#alone.resolve();
  }

  #expired(): void {
    this.#settle();
    if (this.#canAskAgain)
      return this.#say('No page came, and the link is too old now. Enter: anew.');
    this.#say('No page came within a minute. Run it again where a browser is.');
    this.#alone.resolve();
  }

  #showed(revision: number): void {
    const { page, revision: now } = this.#session;
    if (page.step === 'last' && revision === now) this.#shown.resolve();
  }

  /** Once a code is used or replaced, nothing is left that waits for it. */
  #settle(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
    this.#forget();
  }

  #forget(): void {
    this.#file?.[Symbol.dispose]();
    this.#file = null;
  }

  #later(ms: number, act: () => void): void {
    this.#timers.add(setTimeout(act, ms));
  }

  #say(text: string): void {
    this.#io.stderr.write(`${text}\n`);
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) resolve();
  else signal.addEventListener('abort', () => resolve(), { once: true });
  return promise;
}
