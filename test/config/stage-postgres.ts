/**
 * Instances that share a configuration in a real database, in this process. Each has its own file,
 * secrets, host and sockets. Their ledgers are in memory, since messages are not under test.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import type { Applied } from '../../src/config/config-control.ts';
import { inspectConfig, revisionOf, type Inspection } from '../../src/config/inspect.ts';
import { namedSecrets, resolveSecrets } from '../../src/config/secrets.ts';
import { Control } from '../../src/app/config/control.ts';
import { inspectInDatabase } from '../../src/app/config/own-file.ts';
import { AgreedConfigStore } from '../../src/cluster/agreed-config.ts';
import type { Cluster } from '../../src/cluster/cluster.ts';
import { createCluster } from '../../src/ledger/postgres/cluster.ts';
import { createIdSource } from '../../src/domain/ids.ts';
import { createEvents } from '../../src/telemetry/events.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { Runtime } from '../../src/app/runtime.ts';
import { createLookupBeside } from '../fake/secret-lookup.ts';
import { createRunningConfig, createServiceDeps } from '../../src/app/service.ts';
import { createMemoryLedger } from '../../src/ledger/memory/memory.ts';
import { Instances, type Member } from '../fake/postgres/config-members.ts';
import { FakeView } from '../fake/shared-view.ts';
import { scratch } from '../support/program.ts';

const nowhere = 'http://127.0.0.1:9';
const secrets = { WEBHOOK_SECRET: 'a-secret-of-16-characters', DATABASE_URL: 'postgres://x/y' };

type Document = Record<string, unknown> & { channels: object[]; brains: object[] };

/** Its webhook is on any port. @param changes of the whole document */
export function sharedDocument(changes: object = {}): Document {
  const models = [{ provider: 'local_runtime', model_id: 'm', locality: 'local' }];
  return {
    channels: [webhookAt('127.0.0.1:0')],
    brains: [{ name: 'main', sensitivity: 'private', policy: { kind: 'priority' }, models }],
    routes: [{ channel: 'webhook', brain: 'main' }],
    storage: { url_env: 'DATABASE_URL' },
    observability: { enabled: false },
    ...changes,
  };
}

export function webhookAt(bind: string, more: object = {}): object {
  const webhook = { bind, outbound_url: nowhere, ...more };
  return { type: 'webhook', token_env: 'WEBHOOK_SECRET', webhook };
}

/** The same configuration with another revision. */
export const marked = (mark: string): Document => sharedDocument({ _mark: mark });

export type Started = {
  /** The document in its file; a different shared configuration wins. */
  readonly document?: object;
  readonly env?: Record<string, string>;
  readonly silentMs?: number;
  /** The URL of its database. */
  readonly url?: string;
  /** The number of the configuration that it believes to have; by default the current one. */
  readonly n?: number;
};

/** The database, and the instances on it. */
export class House implements AsyncDisposable {
  readonly instances: Instances;
  readonly #opened = new AsyncDisposableStack();

  private constructor(instances: Instances) {
    this.instances = instances;
    this.#opened.use(instances);
  }

  static async open(): Promise<House> {
    return new House(await Instances.open());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#opened.disposeAsync();
  }

  /** @param host its name for people */
  async start(host: string, started: Started = {}): Promise<Instance> {
    const { silentMs = 600_000, url } = started;
    const member = await this.instances.join(host, {
      silentMs,
      ...(url === undefined ? {} : { url }),
    });
    const folder = this.#opened.use(await scratch());
    return this.#opened.use(await Instance.start(member, folder.path, started));
  }
}

export class Instance implements AsyncDisposable {
  readonly member: Member;
  readonly folder: string;
  readonly file: string;
  readonly control: Control;
  /** The reasons why it was told to end. */
  readonly behind: string[] = [];
  readonly #host: Runtime;
  readonly #deps: ReturnType<typeof createServiceDeps>;
  readonly #stopping = new AbortController();
  readonly #said: () => string;
  #reload: () => void = () => {};

  private constructor(member: Member, folder: string, parts: Awaited<ReturnType<typeof parted>>) {
    const { host, deps, said, first, cluster, rest } = parts;
    this.member = member;
    this.folder = folder;
    this.file = join(folder, 'svc.json');
    this.#host = host;
    this.#deps = deps;
    this.#said = said;
    const place = { file: this.file, env: {} };
    const onBehind = (why: string): void => {
      this.behind.push(why);
      this.#stopping.abort();
    };
    const onReload = (act: () => void): void => void (this.#reload = act);
    const stop = this.#stopping.signal;
    const onUsed = (): void => {};
    this.control = new Control(
      { ...rest, cluster, place, onReload, onBehind, runtime: host, deps, stop, onUsed },
      first,
    );
  }

  static async start(member: Member, folder: string, started: Started): Promise<Instance> {
    return new Instance(member, folder, await parted(member, folder, started));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  /** Ends it as a signal does. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#host.drain();
    await this.control[Symbol.asyncDispose]();
    await this.#deps.http.close();
  }

  get id(): number {
    return this.member.id;
  }

  get revision(): string {
    return this.control.used.revision;
  }

  /** All of its log. */
  get said(): string {
    return this.#said();
  }

  /** The number of sockets on which it listens. */
  get listening(): number {
    return this.#deps.listeners.places.length;
  }

  async write(document: object): Promise<void> {
    await writeFile(this.file, JSON.stringify(document));
  }

  hangUp(): void {
    this.#reload();
  }

  /** @param revision to replace; by default the current one here */
  put(document: object | string, revision = this.revision): Promise<Applied> {
    const text = typeof document === 'string' ? document : JSON.stringify(document);
    return this.control.apply({ text, revision, edited: null, mayAskWith: () => true });
  }
}

/** Inspects the file as a start does. */
async function inspectHere(
  file: string,
  configs: Member['configs'],
  { n }: Started,
): Promise<Inspection> {
  const own = await inspectConfig(file, {});
  if (n !== undefined) return own;
  const current = await configs.begin({
    text: own.text,
    revision: revisionOf(own.text),
    by: 'start',
  });
  if (current.text === own.text) return own;
  return inspectInDatabase(current, own, { file, env: {} });
}

async function parted(member: Member, folder: string, started: Started) {
  const { configs, peers } = member;
  const { document = sharedDocument(), env = {} } = started;
  const file = join(folder, 'svc.json');
  await writeFile(file, JSON.stringify(document));
  let said = '';
  const stream = new Writable({
    write: (part: Buffer, _encoding, done) => {
      said += part.toString();
      done();
    },
  });
  const log = createLog({ stream, level: 'info', format: 'json' });
  const { now, steady } = systemClock;
  const events = createEvents({ log, now, steady });
  const lookup = createLookupBeside({ env: { ...secrets, ...env }, cwd: folder });
  const { validation, text, storage } = await inspectHere(file, configs, started);
  assert.ok(validation.kind === 'valid', JSON.stringify(validation.problems));
  const { config, problems: warnings } = validation;
  const found = await lookup.find(namedSecrets(config).map(({ name }) => name));
  lookup.hold(found);
  const deps = createServiceDeps(events, '1.2.3', null, false);
  const ids = createIdSource(now, (bytes) => void crypto.getRandomValues(bytes));
  const ledger = createMemoryLedger({ now, steady, ids });
  const host = new Runtime(
    { ledger, events, ids, now, steady, random: Math.random },
    { cluster: peers },
  );
  const values = resolveSecrets(config, found).secrets;
  assert.equal(await host.use(createRunningConfig(text, config, values, deps, new Map())), null);
  const revision = revisionOf(text);
  const cluster = await startCluster(member, text, started);
  const reader = { privateConversations: async () => 0 };
  const first = { text, revision, config, storage, warnings };
  const rest = { reader, lookup, log, tokenWanted: true };
  return { host, deps, said: () => said, first, cluster, rest };
}

export function clusterOf({ configs, peers }: Member): Cluster {
  const { view } = new FakeView();
  return createCluster({ ...systemClock, configs, peers, view, version: '1.2.3' });
}

async function startCluster(
  member: Member,
  text: string,
  { n }: Started,
): Promise<Pick<Cluster, 'openConfigStore'>> {
  if (n !== undefined) {
    const deps = { ...member, ...systemClock, n, version: '1.2.3' };
    return { openConfigStore: (local) => new AgreedConfigStore({ ...deps, local }) };
  }
  const cluster = clusterOf(member);
  assert.deepEqual(await cluster.beginConfig(text), { kind: 'begun' });
  return cluster;
}
