/** The whole first run on a page: real steps, a real service at its end, fakes around it. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { createLog } from '../../src/lib/log.ts';
import { createLookupBeside } from '../fake/secret-lookup.ts';
import type { KeychainState } from '../../src/domain/keychain-state.ts';
import { openWizardServer, type WizardServer } from '../../apps/setup/browser/wizard-server.ts';
import { openSetup } from '../../apps/setup/session.ts';
import type { SetupSession } from '../../apps/setup/setup.ts';
import { createSetupWorld } from '../../apps/setup/world.ts';
import { fakeKeychain, keptIn } from '../fake/keychain.ts';
import type { FakeTelegram } from '../fake/telegram.ts';
import { freePort, scratch } from '../support/program.ts';
import { patienceMs } from '../support/waiting.ts';
import type { Site, Stage, View } from './browser.ts';

export type SetupStage = Site & {
  readonly server: WizardServer;
  readonly session: SetupSession;
  /** The path of the future configuration. */
  readonly file: string;
  /** The secrets saved to the keychain. */
  readonly kept: () => ReadonlyMap<string, string>;
  /** The whole log of the service. */
  readonly log: () => string;
};

export type Around = {
  /** The value of OLLAMA_HOST. */
  readonly ollama: string;
  readonly telegram?: FakeTelegram;
  readonly keychain?: KeychainState;
  /** Writes files that exist before the first run. */
  readonly prepare?: (folder: string) => Promise<void>;
};

const webRoot = join(import.meta.dirname, '../../web/dist/');

export async function startSetup(around: Around): Promise<SetupStage> {
  const folder = await scratch();
  await around.prepare?.(folder.path);
  const ports = { webhook: await freePort(), replies: await freePort(), admin: await freePort() };
  const stop = new AbortController();
  const file = join(folder.path, 'svc.json');
  const keychain = fakeKeychain(around.keychain ?? 'no_bus');
  const env = { HOME: folder.path, OLLAMA_HOST: around.ollama };
  const stream = new PassThrough();
  let logged = '';
  stream.on('data', (part: Buffer) => (logged += part.toString()));
  const world = createSetupWorld({
    file,
    shown: './svc.json',
    env,
    lookup: createLookupBeside({ env, cwd: folder.path }),
    keychain,
    version: '0.0.0',
    webRoot: pathToFileURL(webRoot),
    log: createLog({ stream, level: 'info', format: 'text' }),
    stop: stop.signal,
    abandon: stop.signal,
    platform: around.telegram?.url ?? null,
    places: { hostedHere: 'http://127.0.0.1:9/v1', requestMs: patienceMs, ports },
  });
  const session = openSetup(world);
  const server = await openWizardServer({
    session,
    webRoot,
    onShown: () => {},
    onTraded: () => {},
    onFault: (error) => stream.write(String(error)),
  });
  if ('code' in server) throw new Error(server.code);
  return {
    server,
    session,
    file,
    kept: () => keptIn(keychain),
    origin: new URL(server.url).origin,
    log: () => logged,
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      stop.abort();
      await session[Symbol.asyncDispose]();
      await world[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  };
}

/** A person who opened the link. */
export async function enter({ site, open }: Stage<SetupStage>, width = 900): Promise<View> {
  const view = await open({ viewport: { width, height: 800 } });
  await view.page.goto(site.server.offer());
  await stepOf(view, /./);
  return view;
}

/** Waits for the step of this title. */
export async function stepOf({ page }: View, title: string | RegExp): Promise<void> {
  await page.getByRole('heading', { level: 2, name: title }).waitFor();
}

export const isThere = (file: string): boolean => existsSync(file);
