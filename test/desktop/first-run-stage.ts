/** The application's first run in this process, with fakes around it and a page's requests. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { runFirstRun, type FirstRunEnd } from '../../apps/desktop/first-run/first-run.ts';
import type { KeychainState } from '../../src/domain/keychain-state.ts';
import { createLog } from '../../src/lib/log.ts';
import { createLookupBeside } from '../fake/secret-lookup.ts';
import type { WizardState } from '../../apps/setup/browser/wizard.ts';
import { webRoot } from '../fake/admin-world.ts';
import { startFakeShell, type FakeShell } from '../fake/shell.ts';
import { fakeKeychain, keptIn, type FakeKeychain } from '../fake/keychain.ts';
import { freePort, scratch } from '../support/program.ts';
import { patienceMs } from '../support/waiting.ts';

export type FirstRunStage = AsyncDisposable & {
  readonly shell: FakeShell;
  readonly origin: string;
  readonly keychain: FakeKeychain;
  /** The secrets saved to the keychain. */
  readonly kept: () => ReadonlyMap<string, string>;
  readonly ended: Promise<FirstRunEnd>;
  readonly ports: { readonly webhook: number; readonly replies: number; readonly admin: number };
  /** The content of the configuration file; null: there is none. */
  readonly file: () => string | null;
  /** Stops it like a SIGTERM. */
  stop(): void;
  /** Signs in with a new code. */
  enter(): Promise<Visitor>;
};

/** A signed-in page. */
export type Visitor = {
  readonly token: string;
  /** The address of the shell's own page, as the answer gave it. */
  readonly page: string | null;
  /** The present state. */
  state(): Promise<WizardState>;
  /** Waits for a page with these words in its title or a line. */
  sees(words: RegExp): Promise<WizardState>;
  /** Waits for a page with this choice, and chooses it. */
  takes(choice: string, fields?: Readonly<Record<string, string>>): Promise<WizardState>;
};

/** @param ollama the value of OLLAMA_HOST */
export async function startFirstRun(
  ollama: string,
  keychainState: KeychainState = 'ready',
): Promise<FirstRunStage> {
  const own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const shell = own.use(await startFakeShell());
  const ports = { webhook: await freePort(), replies: await freePort(), admin: await freePort() };
  const keychain = fakeKeychain(keychainState);
  const stop = new AbortController();
  const env = { HOME: folder, OLLAMA_HOST: ollama };
  const file = join(folder, 'own', 'svc.json');
  const silence = new PassThrough().resume();
  const ended = runFirstRun({
    orders: shell.orders,
    file,
    env,
    lookup: createLookupBeside({ env, cwd: folder }),
    keychain,
    version: '0.0.0',
    webRoot: pathToFileURL(`${webRoot}/`),
    log: createLog({ stream: silence, level: 'error', format: 'json' }),
    stop: stop.signal,
    abandon: stop.signal,
    platform: null,
    places: { hostedHere: 'http://127.0.0.1:9/v1', requestMs: patienceMs, ports },
  });
  own.defer(async () => {
    stop.abort();
    await ended;
  });
  const { origin } = await shell.next('at_work');
  return {
    shell,
    origin,
    keychain,
    kept: () => keptIn(keychain),
    ended,
    ports,
    file: () => (existsSync(file) ? readFileSync(file, 'utf8') : null),
    stop: () => stop.abort(),
    enter: async () => enter(await shell.offer()),
    [Symbol.asyncDispose]: () => own.disposeAsync(),
  };
}

/** Posts as a page does. */
export function post(url: URL, body: unknown, token: string | null = null): Promise<Response> {
  const bearer = token === null ? {} : { authorization: `Bearer ${token}` };
  const headers = { 'content-type': 'application/json', ...bearer };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

/** Signs in with a link that contains a code. */
export async function enter(link: URL): Promise<Visitor> {
  const answer = await post(new URL('/api/v1/sign-in', link), { code: link.hash.slice(1) });
  const { token, page } = (await answer.json()) as { token: string; page: string | null };
  const headers = { authorization: `Bearer ${token}` };
  const ask = async (query: string): Promise<WizardState> => {
    const told = await fetch(new URL(`/api/v1/setup${query}`, link), { headers });
    return (await told.json()) as WizardState;
  };
  const shows = async (isIt: (state: WizardState) => boolean): Promise<WizardState> => {
    let shown = await ask('');
    while (!isIt(shown)) shown = await ask(`?after=${shown.revision}`);
    return shown;
  };
  return {
    token,
    page,
    state: () => ask(''),
    sees: (words) =>
      shows(({ page: { title, lines } }) => {
        return [title, ...lines.map(({ text }) => text)].some((said) => words.test(said));
      }),
    async takes(choice, fields = {}) {
      const isOffered = ({ page: { choices } }: WizardState): boolean =>
        choices.some(({ id }) => id === choice);
      const { revision } = await shows(isOffered);
      const body = { revision, choice, fields };
      const taken = await post(new URL('/api/v1/setup/answer', link), body, token);
      return (await taken.json()) as WizardState;
    },
  };
}
