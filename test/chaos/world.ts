/** The neighbours of svc in a proof: a model, a receiver, people, and a folder for its files. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FakeModel } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import {
  freePort,
  scratch,
  secret,
  startProgram,
  webhookConfig,
  writeConfig,
  type Program,
} from '../support/program.ts';
import { assertKept, audit, leftIn, type Audit, type Left } from './audit.ts';
import { Crowd } from './crowd.ts';
import { History } from './history.ts';
import { stopAsAsked } from './outside.ts';
import { untilAll } from '../support/waiting.ts';

export class World implements AsyncDisposable {
  /** The folder that holds the database and nothing else. */
  readonly store: string;
  readonly database: string;
  readonly crowd: Crowd;
  readonly receiver: Receiver;
  readonly model: FakeModel;
  readonly folder: string;
  readonly #config: string;
  readonly #env: Record<string, string>;
  readonly #own: AsyncDisposableStack;
  readonly #history: History;

  private constructor(
    own: AsyncDisposableStack,
    parts: Pick<World, 'folder' | 'crowd' | 'receiver' | 'model'>,
    { config, env, history }: { config: string; env: Record<string, string>; history: History },
  ) {
    this.#own = own;
    this.folder = parts.folder;
    this.crowd = parts.crowd;
    this.receiver = parts.receiver;
    this.model = parts.model;
    this.#config = config;
    this.#env = env;
    this.#history = history;
    this.store = storeIn(parts.folder);
    this.database = join(this.store, 'svc.db');
  }

  /**
   * @param pauseMs the longest pause of people between two messages
   * @param storage its block of the configuration, and its environment variables
   */
  static async open(random: () => number, pauseMs = 20, storage = inFile): Promise<World> {
    const own = new AsyncDisposableStack();
    const { path: folder } = own.use(await scratch());
    mkdirSync(storeIn(folder), { mode: 0o700 });
    const receiver = own.use(await startReceiver());
    const history = new History();
    const model = own.use(await startFakeOllama((call) => history.answer(call, random() * 15)));
    const [port, adminPort] = [await freePort(), await freePort()];
    const where = { port, adminPort, modelUrl: model.url, receiverUrl: receiver.url };
    const document = { ...webhookConfig(where), storage: storage.block };
    const config = await writeConfig(folder, document);
    const crowd = new Crowd(`http://127.0.0.1:${port}/webhook`, random, pauseMs);
    const parts = { folder, crowd, receiver, model };
    return new World(own, parts, { config, env: storage.env, history });
  }

  /** Starts svc, and does not wait until it listens. */
  spawn(env: Record<string, string> = {}): Program {
    return startProgram(['serve', '--config', this.#config], {
      WEBHOOK_SECRET: secret,
      ...this.#env,
      ...env,
    });
  }

  /**
   * People stop, all accepted messages are answered, svc stops as asked. Asserts that none is lost,
   * unmarked, out of order, run twice, dead or left over.
   * @param left counts the rest in the database once svc has ended
   */
  async conclude(
    program: Program,
    left: () => Left | Promise<Left> = () => leftIn(this.database),
  ): Promise<Audit> {
    await this.crowd.end();
    await untilAnswered(this);
    await stopAsAsked(program);
    const figures = audit(this.crowd, this.receiver.received);
    assertKept({ ...figures, ...(await left()), 'wrong histories': this.#history.wrong });
    return figures;
  }

  answered(): Promise<void> {
    return untilAnswered(this);
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.crowd.leave();
    return this.#own.disposeAsync();
  }
}

/** Resolves when every accepted message has a reply, or when no more replies come. */
export async function untilAnswered({
  crowd,
  receiver,
}: Pick<World, 'crowd' | 'receiver'>): Promise<void> {
  const waiting = new Set<unknown>(crowd.messages.map(({ id }) => id));
  const all = waiting.size;
  let looked = 0;
  const came = (): number => {
    const { received } = receiver;
    for (; looked < received.length; looked++) {
      const { body, confirmed } = received[looked]!;
      if (confirmed) waiting.delete(body['in_reply_to']);
    }
    return all - waiting.size;
  };
  await untilAll(all, came);
  // The last of its first attempts comes a minute after the one before.
  await untilAll(all, came);
}

export type WorldStorage = {
  readonly block: Record<string, unknown>;
  readonly env: Record<string, string>;
};
const inFile: WorldStorage = { block: { path: 'store/svc.db' }, env: {} };

const storeIn = (folder: string): string => join(folder, 'store');
