/** The shell's page server around a fake application, with real files and a keychain in memory. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { request, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { openPageServer, type PageServer } from '../../apps/desktop/page/page-server.ts';
import { createRepairs } from '../../apps/desktop/repairs/make-repairs.ts';
import type { Repairs } from '../../apps/desktop/repairs/repairs.ts';
import type { Clock, SteadyTime } from '../../src/lib/clock.ts';
import { until as waitUntil } from '../support/waiting.ts';
import { FakeApplication } from './application.ts';
import { fakeKeychain, type FakeKeychain } from './keychain.ts';

export const echoText = readFileSync(join(import.meta.dirname, '../../examples/echo.json'), 'utf8');

export type Reply = {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingMessage['headers'];
};
type Ask = {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string | string[]>>;
  readonly body?: string;
};

export type PageStage = AsyncDisposable & {
  readonly server: PageServer;
  readonly origin: string;
  readonly application: FakeApplication;
  readonly repairs: Repairs;
  readonly keychain: FakeKeychain;
  /** The in-memory secrets of the service without a keychain. */
  readonly inMemory: ReadonlyMap<string, string>;
  readonly folder: string;
  readonly config: string;
  readonly logs: string;
  readonly usedTwice: () => number;
  readonly clock: { steadyMs: number };
  /** @param path of the server, or a page */
  readonly ask: (path: string, ask?: Ask) => Promise<Reply>;
  /** Presses a button of the page, as a browser would. */
  readonly press: (
    action: string,
    fields?: Readonly<Record<string, string>>,
    headers?: Ask['headers'],
  ) => Promise<Reply>;
  /** The page to which an answer redirects. */
  readonly follow: (reply: Reply) => Promise<Reply>;
};

export async function openPageStage(config = echoText): Promise<PageStage> {
  await using stack = new AsyncDisposableStack();
  const folder = mkdtempSync(join(tmpdir(), 'svc-page-'));
  stack.defer(() => rmSync(folder, { recursive: true, force: true }));
  const [file, logs] = [join(folder, 'svc.json'), join(folder, 'log')];
  writeFileSync(file, config, { mode: 0o600 });
  await mkdir(logs);
  const application = new FakeApplication({ config: file, logFile: join(logs, 'svc.log') });
  const keychain = fakeKeychain();
  // Without a display, so that nothing opens on this machine.
  const facts = (): FakeApplication['facts'] => application.facts;
  const env = { HOME: folder };
  const inMemory = new Map<string, string>();
  const repairs = createRepairs({
    facts,
    env,
    keychain: async () => keychain,
    lend: (values) => values.forEach((value, name) => inMemory.set(name, value)),
    platform: 'linux',
  });
  const faults: unknown[] = [];
  let usedTwice = 0;
  const time = { steadyMs: 1_000_000 };
  const clock: Clock = { now: Date.now, steady: () => time.steadyMs as SteadyTime };
  const server = await openPageServer({
    application,
    repairs,
    clock,
    onUsedTwice: () => usedTwice++,
    onFault: (error) => faults.push(error),
  });
  assert.ok('page' in server);
  stack.use(server);
  const { ask, press, follow } = askerOf(server);
  const all = stack.move();
  return {
    server,
    origin: server.origin,
    application,
    repairs,
    keychain,
    inMemory,
    folder,
    config: file,
    logs,
    usedTwice: () => usedTwice,
    clock: time,
    ask,
    press,
    follow,
    async [Symbol.asyncDispose]() {
      await all[Symbol.asyncDispose]();
      assert.deepEqual(faults, []);
    },
  };
}

function askerOf({ page, origin }: PageServer): Pick<PageStage, 'ask' | 'press' | 'follow'> {
  const ask = (path: string, { method = 'GET', headers = {}, body }: Ask = {}): Promise<Reply> => {
    const { promise, resolve, reject } = Promise.withResolvers<Reply>();
    const asked = request(new URL(path, page), { method, headers });
    asked.on('error', reject);
    const read = async (response: IncomingMessage): Promise<void> => {
      const text = await readText(response);
      resolve({ status: response.statusCode ?? 0, text, headers: response.headers });
    };
    asked.on('response', (response) => void read(response).catch(reject));
    asked.end(body);
    return promise;
  };
  return {
    ask,
    press: (action, fields = {}, headers = {}) => {
      const body = new URLSearchParams({ ...fields }).toString();
      const form = { 'content-type': 'application/x-www-form-urlencoded', origin };
      return ask(action, { method: 'POST', headers: { ...form, ...headers }, body });
    },
    follow: (reply) => {
      assert.equal(reply.status, 303, reply.text);
      return ask(reply.headers.location ?? '');
    },
  };
}

/** Resolves once the condition holds; for results that are on their way. */
export function until(isSo: () => boolean): Promise<void> {
  return waitUntil(String(isSo), isSo);
}
