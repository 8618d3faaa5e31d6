/** The neighbours of svc where calls need approval: people, a model, and the calls' server. */
import { join } from 'node:path';
import { PostgresServer } from '../../fake/postgres/server.ts';
import { startFakeOllama } from '../../fake/ollama.ts';
import { startReceiver, type Receiver } from '../../fake/receiver.ts';
import {
  freePort,
  scratch,
  secret,
  startProgram,
  webhookConfig,
  writeConfig,
} from '../../support/program.ts';
import { leftIn, type Left } from '../audit.ts';
import { aloneServer, Fleet } from '../many/fleet.ts';
import { Instance } from '../many/instance.ts';
import { holdsSuspect, ranAlone } from '../ran-alone.ts';
import { Moments } from './moments.ts';
import { Office } from './office.ts';
import { payerAt } from './orders.ts';
import { People } from './people.ts';
import { Till } from './till.ts';
import { until } from '../../support/waiting.ts';

/** Where svc stores waiting calls: in memory, in a file, or on a server that two svc share. */
export type Backend = 'memory' | 'SQLite' | 'PostgreSQL';

export const adminToken = 'an-admin-token-of-the-approvals';

/** All svc of one backend. */
export type Services = AsyncDisposable & {
  readonly instances: readonly Instance[];
  /** Resolves when one may be killed: all others are at work, or it starts anew. */
  untilMayDie(): Promise<void>;
  /** Counts unsettled rows and dead letters. */
  left(): Promise<Left>;
  /** Moves the deadlines of waiting calls by this time, while no svc runs. */
  passTime(ms: number): Promise<void>;
  /** What is not settled, for the report of a failure. */
  told(): Promise<string>;
  /** Stops all of them as asked. */
  end(): Promise<void>;
};

export class Scene implements AsyncDisposable {
  readonly backend: Backend;
  readonly random: () => number;
  readonly moments: Moments;
  readonly people: People;
  readonly till: Till;
  readonly receiver: Receiver;
  readonly services: Services;
  readonly office: Office;
  /** The orders whose calls the model changes after a yes. */
  readonly changing: Set<number>;
  readonly #own: AsyncDisposableStack;

  private constructor(parts: Parts & Pick<Scene, 'services'>, own: AsyncDisposableStack) {
    this.backend = parts.backend;
    this.random = parts.random;
    this.moments = parts.moments;
    this.people = parts.people;
    this.till = parts.till;
    this.receiver = parts.receiver;
    this.changing = parts.changing;
    this.services = parts.services;
    this.office = new Office(parts.services.instances, adminToken, parts.random);
    this.#own = own;
  }

  static async open(backend: Backend, random: () => number): Promise<Scene> {
    await using own = new AsyncDisposableStack();
    const moments = new Moments();
    const till = own.use(await Till.open(moments, random));
    const receiver = own.use(await startReceiver());
    const people = own.use(await People.open(receiver, moments, random));
    const changing = new Set<number>();
    const pays = payerAt(till.host, (order) => changing.has(order));
    const model = own.use(
      await startFakeOllama((call) => {
        moments.note('model');
        return { ...pays(call), delayMs: random() * 15 };
      }),
    );
    const parts = { backend, random, moments, till, receiver, people, changing };
    const services = own.use(await servicesOf(parts, model.url));
    return new Scene({ ...parts, services }, own.move());
  }

  /** What is not settled, for the report of a failure. */
  async told(): Promise<string> {
    const { pending } = this.people.telegram;
    const rows = await this.services.told().catch(String);
    const approvals = await this.office.open().catch((error: unknown) => [String(error)]);
    const lines = approvals.map((one) => JSON.stringify(one));
    const inHand = await this.office.inHand();
    return [`${pending} updates wait at Telegram`, rows, ...lines, ...inHand].join('\n');
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own.disposeAsync();
  }
}

type Parts = Pick<
  Scene,
  'backend' | 'random' | 'moments' | 'people' | 'till' | 'receiver' | 'changing'
>;

async function servicesOf(parts: Parts, modelUrl: string): Promise<Services> {
  const { backend, random, people } = parts;
  const document = documentFor(parts, modelUrl);
  const env = {
    WEBHOOK_SECRET: secret,
    ADMIN_TOKEN: adminToken,
    TELEGRAM_TOKEN: people.telegram.token,
  };
  if (backend !== 'PostgreSQL') return oneService(backend, document, env);
  await using own = new AsyncDisposableStack();
  const server = own.use(await PostgresServer.start());
  const common = { servers: aloneServer(server), instances: 2, random };
  const fleet = own.use(await Fleet.start({ ...common, document, hasWebhook: true, env }));
  const held = own.move();
  return {
    instances: fleet.instances,
    async untilMayDie() {
      // Else the svc of a slow machine would do nothing but start.
      await fleet.untilUp();
      await fleet.untilMayDie();
    },
    left: () => fleet.rows.left(),
    told: () => fleet.rows.told(),
    // Several svc on one database use the server's clock.
    passTime: (ms) => fleet.rows.hurryApprovals(ms),
    end: () => fleet.end(),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function oneService(
  backend: 'memory' | 'SQLite',
  document: object,
  env: Record<string, string>,
): Promise<Services> {
  await using own = new AsyncDisposableStack();
  const { path: folder } = own.use(await scratch());
  const [port, adminPort] = [await freePort(), await freePort()];
  const storage = backend === 'SQLite' ? { storage: { path: 'svc.db' } } : {};
  const file = await writeConfig(folder, { ...document, ...storage });
  const where = ['--webhook-bind', `127.0.0.1:${port}`, '--admin-addr', `127.0.0.1:${adminPort}`];
  const time = { aheadMs: 0 };
  const clock = import.meta.resolve('../many/skewed-clock.ts');
  const instance = own.use(
    new Instance({
      name: 'svc',
      port,
      adminPort,
      ways: [],
      spawn: (ms) =>
        startProgram(['serve', '--config', file, ...where], {
          ...env,
          NODE_OPTIONS: `--import=${clock}?ms=${ms}`,
        }),
      drawAheadMs: () => time.aheadMs,
    }),
  );
  const database = join(folder, 'svc.db');
  const mayDie = (): boolean => {
    if (instance.faults.length > 0) return true;
    return instance.isAtWork && !ranAlone(database) && !holdsSuspect(database);
  };
  instance.begin();
  const held = own.move();
  return {
    instances: [instance],
    untilMayDie: () => until('an answer to what was under way at two ends', mayDie),
    left: async () => (backend === 'SQLite' ? leftIn(database) : { buried: 0, unsettled: 0 }),
    told: async () => '',
    async passTime(ms) {
      time.aheadMs += ms;
    },
    async end() {
      await instance.untilUp();
      const how = await instance.end();
      if (how !== 0 || instance.faults.length > 0) throw new Error(instance.log());
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

function documentFor({ people, till, receiver }: Parts, modelUrl: string): object {
  const where = { port: 1, adminPort: 2, modelUrl, receiverUrl: receiver.url };
  const { channels, brains, ...config } = webhookConfig(where);
  const { telegram, approvers } = people;
  const messenger = { type: 'telegram', mode: 'polling', token_env: 'TELEGRAM_TOKEN' };
  const agent = {
    tools: ['webhook_call'],
    governance: [{ tool: 'webhook_call', mode: 'ask' }],
    approvers: approvers.map(({ id }) => `messenger_a:${id}`),
    approval_hours: 1,
    webhook_call: { allow_hosts: [till.host] },
  };
  return {
    ...config,
    admin: { token_env: 'ADMIN_TOKEN' },
    channels: [...channels, { ...messenger, base_url: telegram.url }],
    brains: [{ ...brains[0], agent }],
    routes: [
      { channel: 'webhook', brain: 'echo' },
      { channel: 'telegram', brain: 'echo' },
    ],
  };
}
