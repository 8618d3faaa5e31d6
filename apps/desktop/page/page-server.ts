/**
 * The shell's own pages, on a loopback listener: the way in (`/open/<code>`), and the page of the
 * application. They use no script, and serve when the core has no page to show. The page's address
 * contains a key of 128 bits; whoever has the address may use its buttons. Each shell has a new
 * key. A code that is used twice also changes the key, and the pages that are signed in learn the
 * new address.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isForeign } from '../../../src/admin/http/auth.ts';
import { SignIn, type Traded } from '../../../src/admin/http/sign-in.ts';
import { createTokenCheck, type TokenCheck } from '../../../src/lib/bearer.ts';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import { createListeners, type Handler } from '../../../src/lib/listener.ts';
import type { Application, ApplicationState } from '../desktop.ts';
import type { Repairs, LogName } from '../repairs/repairs.ts';
import { acts, pagesOf } from './acts.ts';
import { send, type PageAnswer } from './answers.ts';
import { Notices } from './notices.ts';
import { pageOf, paragraph, section, type Notice } from './frame.ts';
import { configurationPage, logPage, settingsPage } from './room-pages.ts';
import { closePage, endedPage, statePage } from './state-page.ts';

// Pages for people who are not let in; they show nothing of this machine.

type RefusalReason = Extract<Traded, { readonly kind: 'refused' }>['why'];

const openAgain = 'Start svc as you did before: that opens a window anew.';

const links: Readonly<Record<RefusalReason, readonly [title: string, text: string]>> = {
  unknown: ['This link leads nowhere', 'svc does not know it, or has been started again since.'],
  late: ['This link is too old', 'It is good for one minute.'],
  used_twice: [
    'This link was used before',
    'It is good for one use. Somebody else may have it, so whoever was signed in by it is signed ' +
      'out.',
  ],
};

function linkRefused(why: RefusalReason): string {
  const [title, text] = links[why];
  return refusalPage(title, text);
}

function refusalPage(title: string, text: string): string {
  const body = section('What to do', paragraph(text), paragraph(openAgain));
  return pageOf({ title, body, room: null });
}

// The pages of the application: the current state, and the requests that wait for the next one.

type RoomDeps = {
  readonly application: Application;
  readonly repairs: Repairs;
  readonly notices: Notices;
  /** Milliseconds since 1970. */
  readonly now: () => number;
};

type Visit = {
  /** The path after the key, without the query. */
  readonly room: string;
  readonly query: URLSearchParams;
  /** Aborts when nobody waits for the answer any more, or the server closes. */
  readonly left: AbortSignal;
};

/** How long a request for the next state waits before the page asks again. */
const holdMs = 20_000;
/** The least time for which a page is shown, however often the state changes. */
const shownMs = 250;

/** @returns null: there is no such page */
async function showRoom(deps: RoomDeps, visit: Visit): Promise<PageAnswer | null> {
  const notice = deps.notices.get(visit.query.get('told'));
  switch (visit.room) {
    case '':
      return firstPage(deps, notice, visit);
    case 'wait':
      return wait(deps, visit);
    case 'close':
      return roomsPage(closePage(notice));
    case 'log': {
      const of: LogName = visit.query.get('of') === 'application' ? 'application' : 'service';
      return roomsPage(logPage(of, await deps.repairs.lastLines(of), notice));
    }
    case 'configuration':
      return roomsPage(await configuration(deps, notice));
    case 'settings':
      return roomsPage(settingsPage(deps.application.facts, notice));
    default:
      // A reload of a button's address leads back to the first page.
      return acts.has(visit.room) ? { kind: 'go', to: './' } : null;
  }
}

/**
 * The first page. A browser that waited for the core goes to the core's pages, even if its waiting
 * request was lost.
 */
async function firstPage(deps: RoomDeps, notice: Notice | null, visit: Visit): Promise<PageAnswer> {
  const { application } = deps;
  if (visit.query.has('waited') && notice === null && hasPages(application.state)) {
    const url = await pagesOf(application, visit.left);
    if (url !== null) return { kind: 'go', to: url };
  }
  return roomsPage(await currentStatePage(deps, notice, visit));
}

async function currentStatePage(deps: RoomDeps, notice: Notice | null, { query }: Visit) {
  const { application, repairs, now } = deps;
  const { state, facts } = application;
  const mayTakeBack = state.at === 'needs_you' && /^(?:config|other)$/.test(state.why.of);
  const earlier = mayTakeBack ? await repairs.earlier() : [];
  const next = notice === null ? 'wait' : `wait?told=${query.get('told')}`;
  return statePage({ state, facts, earlier, notice, next, now: now() });
}

async function configuration({ application, repairs }: RoomDeps, notice: Notice | null) {
  const { config: file } = application.facts;
  const read = await repairs.read();
  const earlier = await repairs.earlier();
  if (read.kind === 'text') {
    const { text, revision } = read;
    return configurationPage({ file, text, revision, problems: [], earlier }, notice);
  }
  const editing = { file, text: null, revision: '', problems: [], earlier };
  return configurationPage(editing, notice ?? { is: 'bad', text: read.message });
}

/**
 * Answers once the state has changed. If the core serves by then, it redirects to the core's pages,
 * unless there is a notice to show.
 */
async function wait(deps: RoomDeps, visit: Visit): Promise<PageAnswer> {
  const { application, notices } = deps;
  const told = visit.query.get('told');
  const notice = notices.get(told);
  const since = application.state;
  if (isPassing(since)) await changed(application, since, visit.left);
  // The client sees the listener close.
  if (visit.left.aborted) return roomsPage(endedPage());
  const { state } = application;
  if (!hasPages(state) || notice !== null) {
    return { kind: 'go', to: notice === null ? './?waited' : `./?told=${told}` };
  }
  const url = await pagesOf(application, visit.left);
  return { kind: 'go', to: url ?? './' };
}

/** Waits for a change of the state. Also resolves after `holdMs`, or when nobody waits any more. */
async function changed(
  application: Application,
  since: ApplicationState,
  left: AbortSignal,
): Promise<void> {
  const ends = AbortSignal.any([left, AbortSignal.timeout(holdMs)]);
  const shown = new Promise((resolve) => setTimeout(resolve, shownMs));
  // It rejects when the signal aborts; the page then shows the current state.
  await application.changed(since, ends).catch(() => {});
  await shown;
}

const isPassing = ({ at, ...more }: ApplicationState): boolean =>
  at === 'starting' || at === 'stopping' || ('nextTryAt' in more && more.nextTryAt !== null);

const hasPages = ({ at }: ApplicationState): boolean => at === 'serving' || at === 'first_run';

const roomsPage = (text: string, status = 200): PageAnswer => ({
  kind: 'page',
  status,
  page: text,
});

const nothingHere = roomsPage(
  refusalPage('There is nothing here', 'This page belongs to a svc that has ended, or to none.'),
  404,
);

// Reads the forms of the shell's pages. Format: WHATWG URL, section 5.

/**
 * A configuration of 1 MiB, whose bytes may each be sent as three, and some room for the other
 * fields.
 */
const bodyBytesMax = 3 * 1_048_576 + 4_096;

type FormRead =
  | { readonly kind: 'form'; readonly fields: URLSearchParams }
  | { readonly kind: 'refused'; readonly status: 400 | 413 | 415; readonly why: string };

async function readForm(request: IncomingMessage): Promise<FormRead> {
  const type = request.headers['content-type'] ?? '';
  if (!/^application\/x-www-form-urlencoded(?:\s*;|$)/i.test(type)) {
    return { kind: 'refused', status: 415, why: 'Only the buttons of this page may do this.' };
  }
  const parts: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const part of request as AsyncIterable<Buffer>) {
      bytes += part.length;
      if (bytes > bodyBytesMax) {
        return { kind: 'refused', status: 413, why: 'That is more than svc takes.' };
      }
      parts.push(part);
    }
  } catch {
    // The error is not shown: it may contain text that the person pasted.
    return { kind: 'refused', status: 400, why: 'It did not come as a whole. Try again.' };
  }
  return { kind: 'form', fields: new URLSearchParams(Buffer.concat(parts).toString('utf8')) };
}

export type PageServerOptions = {
  readonly application: Application;
  readonly repairs: Repairs;
  /**
   * Called when a code was used twice, so somebody else may have it: everybody must be signed out.
   * The page already has another address.
   */
  readonly onUsedTwice: () => void;
  /** Called with each error that should not have happened. */
  readonly onFault: (error: unknown) => void;
  readonly clock?: Clock;
};

export type PageServer = AsyncDisposable & {
  /** `http://127.0.0.1:<port>`; each server has a new port. */
  readonly origin: string;
  /**
   * The address of the application's page, with a slash at its end. Whoever has it may use the
   * page.
   */
  readonly page: string;
  /** Gives the page another address; the former one leads nowhere. */
  move(): void;
  /**
   * An address for one use within 60 s. It leads to the core's pages if the core serves, else to
   * the application's page. Earlier addresses of this kind become invalid.
   */
  offer(): string;
};

/** `code` is the system's error code. */
export type PageUnbound = { readonly kind: 'fault'; readonly code: string };

const keyBytes = 16;
const graceMs = 1_000;

export async function openPageServer(
  options: PageServerOptions,
): Promise<PageServer | PageUnbound> {
  const held = await createListeners({}, { fault: options.onFault }).take({
    host: '127.0.0.1',
    port: 0,
  });
  if (held.kind === 'fault') return held;
  const host = `127.0.0.1:${held.port}`;
  const closing = new AbortController();
  const handler = new PageHandler(options, host, closing.signal);
  held.answer(handler.answer);
  const remembering = rememberWorking(options, closing.signal);
  return {
    origin: `http://${host}`,
    get page() {
      return `http://${host}/app/${handler.key.text}/`;
    },
    move: () => handler.move(),
    offer: () => `http://${host}/open/${handler.signIn.offer()}`,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all([held.release(graceMs), remembering]);
    },
  };
}

/**
 * Remembers each configuration that the service started with, so that the person can restore it if
 * a later one fails.
 */
async function rememberWorking(
  { application, repairs, onFault }: PageServerOptions,
  closing: AbortSignal,
): Promise<void> {
  while (!closing.aborted) {
    const { state } = application;
    try {
      if (state.at === 'serving') await repairs.remember();
      await application.changed(state, closing);
    } catch (error) {
      if (!closing.aborted) onFault(error);
      return;
    }
  }
}

type Key = {
  readonly text: string;
  readonly matches: TokenCheck;
  /** Aborts when another key replaces this one. */
  readonly ended: AbortController;
};

function newKey(): Key {
  const text = randomBytes(keyBytes).toString('base64url');
  return { text, matches: createTokenCheck(text), ended: new AbortController() };
}

class PageHandler {
  #key = newKey();
  /** Only the codes of this sign-in are used; it grants no token. */
  readonly signIn: SignIn;
  readonly #options: PageServerOptions;
  readonly #host: string;
  readonly #closing: AbortSignal;
  readonly #deps: RoomDeps;

  constructor(options: PageServerOptions, host: string, closing: AbortSignal) {
    const { application, repairs, onUsedTwice, clock = systemClock } = options;
    this.#options = options;
    this.#host = host;
    this.#closing = closing;
    this.#deps = { application, repairs, notices: new Notices(), now: clock.now };
    this.signIn = new SignIn(clock.steady, (traded) => {
      if (traded.kind !== 'refused' || traded.why !== 'used_twice') return;
      this.move();
      onUsedTwice();
    });
  }

  get key(): Key {
    return this.#key;
  }

  move(): void {
    const { ended } = this.#key;
    this.#key = newKey();
    ended.abort();
  }

  /** No client here has a bearer token, so the handler need not tell clients apart. */
  readonly answer: Handler = (request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const left = AbortSignal.any([gone.signal, this.#closing]);
    const reply = (answer: PageAnswer): void => send(request, response, answer);
    this.#answerOf(request, left).then(reply, (error: unknown) => {
      this.#options.onFault(error);
      reply(failed);
    });
  };

  async #answerOf(request: IncomingMessage, left: AbortSignal): Promise<PageAnswer> {
    const { url = '', method = '' } = request;
    const hosts = request.headersDistinct['host'] ?? [];
    // The window's browser uses this listener as its proxy; refusing these requests keeps it from
    // reaching anything else.
    if (!url.startsWith('/') || hosts.length !== 1 || hosts[0] !== this.#host) return elsewhere;
    const target = URL.parse(`http://${this.#host}${url}`);
    if (target === null) return nothingHere;
    const { pathname, searchParams: query } = target;
    const [, way, secret = '', room, ...more] = pathname.split('/');
    if (way === 'open' && room === undefined && method === 'GET') {
      return isPrefetch(request) ? prefetchRefused : this.#open(secret, left);
    }
    const isRoom = way === 'app' && room !== undefined && more.length === 0;
    const { matches, ended } = this.#key;
    if (!isRoom || !matches(secret)) return nothingHere;
    const visit = { room, query, left: AbortSignal.any([left, ended.signal]) };
    const answer = await this.#visit(request, visit);
    // An answer from before the page moved may reveal the new address.
    return ended.signal.aborted ? nothingHere : answer;
  }

  async #visit(request: IncomingMessage, visit: Visit): Promise<PageAnswer> {
    const { method = '' } = request;
    if (method === 'GET' || method === 'HEAD') {
      return (await showRoom(this.#deps, visit)) ?? nothingHere;
    }
    return method === 'POST' ? this.#act(request, visit) : nothingHere;
  }

  async #open(code: string, left: AbortSignal): Promise<PageAnswer> {
    const traded = this.signIn.trade(code);
    if (traded.kind === 'refused') return linkAnswer(traded.why);
    const { ended } = this.signIn;
    const { application } = this.#options;
    const url = await pagesOf(application, AbortSignal.any([left, ended]));
    // The code was used twice meanwhile, and nobody can tell which client is the person.
    if (ended.aborted && this.signIn.withdrawn === 'code_used_twice') {
      return linkAnswer('used_twice');
    }
    return { kind: 'go', to: url ?? `/app/${this.#key.text}/` };
  }

  async #act(request: IncomingMessage, { room, left }: Visit): Promise<PageAnswer> {
    const act = acts.get(room);
    if (act === undefined) return nothingHere;
    if (isForeign(request, this.#host, [])) return foreign;
    const form = await readForm(request);
    if (form.kind === 'refused') {
      return page(form.status, refusalPage('That did not work', form.why));
    }
    return act(this.#deps, form.fields, left);
  }
}

/**
 * True: the browser only loads the page ahead, which must not use up a code. Format: Fetch,
 * Sec-Purpose.
 */
function isPrefetch({ headersDistinct }: IncomingMessage): boolean {
  const purposes = [headersDistinct['sec-purpose'], headersDistinct['purpose']].flat();
  return purposes.some((one) => /prefetch|prerender|preview/i.test(one ?? ''));
}

const page = (status: number, text: string): PageAnswer => ({ kind: 'page', status, page: text });

const linkAnswer = (why: Parameters<typeof linkRefused>[0]): PageAnswer =>
  page(403, linkRefused(why));

const prefetchRefused = page(503, refusalPage('Not yet', 'This link is for the one who opens it.'));

const elsewhere = page(
  421,
  refusalPage('This is elsewhere', 'The window of svc shows the pages of svc alone.'),
);

const foreign = page(
  403,
  refusalPage('That did not work', 'Only the buttons of this page may do this.'),
);

const failed = page(
  500,
  refusalPage('That did not work', 'Something failed in a way that svc does not know.'),
);
