/**
 * The shell's own pages, on a listener of this machine: the way in (`/open/<code>`), and the page
 * of the application, without a script, for when the core has none to show. Whoever has its
 * address, which has 128 bits of its own, may use its buttons. It is another one each time, and
 * once a code came twice: who was signed in was told it.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { isForeign } from '../../../src/admin/http/auth.ts';
import { SignIn } from '../../../src/admin/http/sign-in.ts';
import { createTokenCheck, type TokenCheck } from '../../../src/lib/bearer.ts';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import { createListeners, type Handler } from '../../../src/lib/listener.ts';
import type { Application } from '../desktop.ts';
import type { Repairs } from '../repairs/repairs.ts';
import { acts, pagesOf } from './acts.ts';
import { send, type PageAnswer } from './answers.ts';
import { readForm } from './form.ts';
import { Notices } from './notices.ts';
import { linkRefused, refusalPage } from './refusals.ts';
import { look, nothingHere, type RoomDeps, type Visit } from './rooms.ts';

export type PageServerOptions = {
  readonly application: Application;
  readonly repairs: Repairs;
  /**
   * A code came a second time, so somebody else may have it: nobody stays signed in. The page has
   * another address by then.
   */
  readonly onUsedTwice: () => void;
  /** Is told of what should not have happened. */
  readonly onFault: (error: unknown) => void;
  readonly clock?: Clock;
};

export type PageServer = AsyncDisposable & {
  /** `http://127.0.0.1:<port>`, the port new each time. */
  readonly origin: string;
  /** The page of the application; whoever has this address may use it. Ends with a slash. */
  readonly page: string;
  /** Gives the page another address: the one of before leads nowhere. */
  move(): void;
  /**
   * An address for one use within 60 s: it leads to the pages of the core, once it serves, else to
   * the page of the application. Those offered before are worth nothing now.
   */
  offer(): string;
};

/** `code` is the system's. */
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
  const door = new Door(options, host, closing.signal);
  held.answer(door.answer);
  const remembering = rememberWorking(options, closing.signal);
  return {
    origin: `http://${host}`,
    get page() {
      return `http://${host}/app/${door.key.text}/`;
    },
    move: () => door.move(),
    offer: () => `http://${host}/open/${door.signIn.offer()}`,
    async [Symbol.asyncDispose]() {
      closing.abort();
      await Promise.all([held.release(graceMs), remembering]);
    },
  };
}

/** A configuration that the service came up with can be taken back, should a later one fail. */
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
  /** Aborts when it is the key no more. */
  readonly ended: AbortController;
};

function newKey(): Key {
  const text = randomBytes(keyBytes).toString('base64url');
  return { text, matches: createTokenCheck(text), ended: new AbortController() };
}

class Door {
  #key = newKey();
  /** Of it the codes alone are used: who comes by one is led on. */
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

  /** Nobody here brings a bearer, so that a peer needs not be told from another. */
  readonly answer: Handler = (request, response) => {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    const left = AbortSignal.any([gone.signal, this.#closing]);
    const say = (answer: PageAnswer): void => send(request, response, answer);
    this.#answerOf(request, left).then(say, (error: unknown) => {
      this.#options.onFault(error);
      say(failed);
    });
  };

  async #answerOf(request: IncomingMessage, left: AbortSignal): Promise<PageAnswer> {
    const { url = '', method = '' } = request;
    const hosts = request.headersDistinct['host'] ?? [];
    // The window's browser takes this listener for a proxy, so that it reaches nothing else by it.
    if (!url.startsWith('/') || hosts.length !== 1 || hosts[0] !== this.#host) return elsewhere;
    const target = URL.parse(`http://${this.#host}${url}`);
    if (target === null) return nothingHere;
    const { pathname, searchParams: query } = target;
    const [, way, secret = '', room, ...more] = pathname.split('/');
    if (way === 'open' && room === undefined && method === 'GET') {
      return isGuess(request) ? notGuessed : this.#open(secret, left);
    }
    const isRoom = way === 'app' && room !== undefined && more.length === 0;
    const { matches, ended } = this.#key;
    if (!isRoom || !matches(secret)) return nothingHere;
    const visit = { room, query, left: AbortSignal.any([left, ended.signal]) };
    const answer = await this.#visit(request, visit);
    // What was asked for before the page moved may be a way in.
    return ended.signal.aborted ? nothingHere : answer;
  }

  async #visit(request: IncomingMessage, visit: Visit): Promise<PageAnswer> {
    const { method = '' } = request;
    if (method === 'GET' || method === 'HEAD') {
      return (await look(this.#deps, visit)) ?? nothingHere;
    }
    return method === 'POST' ? this.#act(request, visit) : nothingHere;
  }

  async #open(code: string, left: AbortSignal): Promise<PageAnswer> {
    const traded = this.signIn.trade(code);
    if (traded.kind === 'refused') return linkAnswer(traded.why);
    const { ended } = this.signIn;
    const { application } = this.#options;
    const url = await pagesOf(application, AbortSignal.any([left, ended]));
    // The code came a second time meanwhile: nobody can tell which of the two is the person.
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

/** A browser that loads ahead what might be wanted uses no code. Format: Fetch, Sec-Purpose. */
function isGuess({ headersDistinct }: IncomingMessage): boolean {
  const purposes = [headersDistinct['sec-purpose'], headersDistinct['purpose']].flat();
  return purposes.some((one) => /prefetch|prerender|preview/i.test(one ?? ''));
}

const page = (status: number, text: string): PageAnswer => ({ kind: 'page', status, page: text });

const linkAnswer = (why: Parameters<typeof linkRefused>[0]): PageAnswer =>
  page(403, linkRefused(why));

const notGuessed = page(503, refusalPage('Not yet', 'This link is for the one who opens it.'));

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
