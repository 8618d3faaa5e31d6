/**
 * Starts the service in this process, and can make each read of its setup and each import fail. It
 * also shows the resources left open after the end.
 */
import assert from 'node:assert/strict';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { Worker } from 'node:worker_threads';
import type { EnvName } from '../../src/config/secret-value.ts';
import { validateText } from '../../src/config/validate.ts';
import { createLog } from '../../src/lib/log.ts';
import type { Ending, Setup } from '../../src/app/run-contract.ts';
import { runService } from '../../src/app/run.ts';
import { createLookupBeside } from '../fake/secret-lookup.ts';
import { freePort, webhookConfig } from '../support/program.ts';
import { until } from '../support/waiting.ts';

const nowhere = 'http://127.0.0.1:9';
type Document = ReturnType<typeof webhookConfig>;

const secrets = new Map(
  Object.entries({
    WEBHOOK_SECRET: 'a-secret-of-16-characters',
    TELEGRAM_TOKEN: `123456789:${'a'.repeat(35)}`,
    DISCORD_TOKEN: `${Buffer.from('1234567890').toString('base64')}.abcdef.${'a'.repeat(30)}`,
  }) as [EnvName, string][],
);

/** Everything that a boot can open: storage, three channels, the admin server. */
export async function fullDocument(): Promise<{ document: Document; port: number }> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const document = webhookConfig({ port, adminPort, modelUrl: nowhere, receiverUrl: nowhere });
  const messengers = [
    { type: 'telegram', mode: 'polling', token_env: 'TELEGRAM_TOKEN', base_url: nowhere },
    { type: 'discord', mode: 'gateway', token_env: 'DISCORD_TOKEN', base_url: nowhere },
  ];
  document.channels.push(...messengers);
  document.routes.push(...messengers.map(({ type }) => ({ channel: type, brain: 'echo' })));
  return { document: { ...document, storage: { path: 'svc.db' } }, port };
}

export function setupOf(folder: string, document: Document) {
  const text = JSON.stringify(document);
  const validation = validateText(text);
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  const { config } = validation;
  const stopping = new AbortController();
  let written = '';
  const stream = new Writable({
    write: (part: Buffer, _encoding, done) => {
      written += part.toString();
      done();
    },
  });
  const listening = Promise.withResolvers<void>();
  const setup: Setup = {
    config,
    text,
    file: join(folder, 'svc.json'),
    env: {},
    lookup: createLookupBeside({ env: {}, cwd: folder }),
    onReload: () => {},
    storage: config.storage === null ? null : { kind: 'file', path: join(folder, 'svc.db') },
    secrets,
    warnings: [],
    log: createLog({ stream, level: 'info', format: 'json' }),
    version: '0',
    webRoot: new URL('../../web/dist/', import.meta.url),
    stop: stopping.signal,
    onListening: () => listening.resolve(),
  };
  return { setup, stopping, listening: listening.promise, log: () => written };
}

/** The places that a boot passes, in order; at one of them it acts. */
export class Places {
  readonly passed: string[] = [];
  readonly #at: number;
  readonly #act: (place: string) => void;

  /** @param at index of the place to act at, from 0; -1: none */
  constructor(at: number, act: (place: string) => void) {
    this.#at = at;
    this.#act = act;
  }

  pass(place: string): void {
    this.passed.push(place);
    if (this.passed.length - 1 === this.#at) this.#act(place);
  }

  /** Wraps the setup and its configuration, so that each read of a field passes a place. */
  watch(setup: Setup): Setup {
    const watched = <T extends object>(name: string, of: T): T =>
      new Proxy(of, {
        get: (target, key) => {
          if (typeof key === 'string') this.pass(`${name}.${key}`);
          return Reflect.get(target, key) as unknown;
        },
      });
    const config = watched('config', setup.config);
    return watched('setup', { ...setup, config });
  }
}

/** Receives each `import()` before Node resolves it, while it is set. */
const loading: { places: Pick<Places, 'pass'> | null } = { places: null };
registerHooks({
  resolve(specifier, context, next) {
    loading.places?.pass(`import ${specifier}`);
    return next(specifier, context);
  },
});

/** Runs the service to its end. The program exits with 1 for a rejection, as for `failed`. */
export async function end(setup: Setup, places: Pick<Places, 'pass'> | null): Promise<Ending> {
  loading.places = places;
  try {
    return await runService(setup);
  } catch (error) {
    return { kind: 'failed', code: null, message: String(error) };
  } finally {
    loading.places = null;
  }
}

/** Makes the loading of this module fail. */
export function failsToLoad(name: string): Pick<Places, 'pass'> {
  return {
    pass: (place) => {
      if (place.endsWith(name)) throw new Error(`made to fail: ${name}`);
    },
  };
}

const workers = new Set<Worker>();
process.on('worker', (worker) => {
  workers.add(worker);
  worker.once('exit', () => workers.delete(worker));
});

/** The resources that keep this process alive, except files in the middle of a read. */
export function openNow(): readonly string[] {
  const kinds = process.getActiveResourcesInfo().filter((kind) => !/^(FS|Pipe|TTY)/.test(kind));
  return [...kinds, ...[...workers].map(() => 'thread')].sort();
}

/** @param before the open resources before the start */
export async function assertClosed(before: readonly string[], what: string): Promise<void> {
  const extra = (): readonly string[] => {
    const known = [...before];
    return openNow().filter((kind) => {
      const at = known.indexOf(kind);
      if (at >= 0) known.splice(at, 1);
      return at < 0;
    });
  };
  await until(`${what}: all is closed`, () => extra().length === 0).catch((error: unknown) => {
    throw new Error(`${what}: left open: ${extra().join(' ')}`, { cause: error });
  });
}
