/** What svc is surrounded by in a proof: a model, a receiver, people, a folder for its files. */
import assert from 'node:assert/strict';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { FakeModel, ModelCall } from '../fake/model-server.ts';
import { startFakeOllama } from '../fake/ollama.ts';
import { startReceiver, type Receiver } from '../fake/receiver.ts';
import { freePort, scratch, secret, startProgram } from '../program.ts';
import { webhookConfig, writeConfig, type Program } from '../program.ts';
import { assertKept, audit, leftIn, type Audit, type Left } from './audit.ts';
import { Crowd } from './crowd.ts';
import { untilAll } from './outside.ts';

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
   * @param pauseMs how long people pause at most between two messages
   * @param storage the block of the configuration, and what it needs in the environment
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

  /** Starts svc; it does not listen yet. */
  spawn(env: Record<string, string> = {}): Program {
    return startProgram(['serve', '--config', this.#config], {
      WEBHOOK_SECRET: secret,
      ...this.#env,
      ...env,
    });
  }

  /**
   * People stop, all that was accepted is answered, svc stops as asked; then nothing is lost,
   * unmarked, out of order, run twice, buried or left over.
   * @param program listens
   * @param left what is left in the database once svc has ended
   */
  async conclude(
    program: Program,
    left: () => Left | Promise<Left> = () => leftIn(this.database),
  ): Promise<Audit> {
    await this.crowd.end();
    await this.answered();
    program.child.kill('SIGTERM');
    assert.equal(await program.ended, 0, program.log().slice(-2_000));
    const figures = audit(this.crowd, this.receiver.received);
    assertKept({ ...figures, ...(await left()), 'wrong histories': this.#history.wrong });
    return figures;
  }

  /** Resolves when every accepted message has a reply, or when no more replies come. */
  answered(): Promise<void> {
    const waiting = new Set<unknown>(this.crowd.messages.map(({ id }) => id));
    const all = waiting.size;
    let looked = 0;
    return untilAll(all, () => {
      const { received } = this.receiver;
      for (; looked < received.length; looked++) {
        const { body, confirmed } = received[looked]!;
        if (confirmed) waiting.delete(body['in_reply_to']);
      }
      return all - waiting.size;
    });
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.crowd.leave();
    return this.#own.disposeAsync();
  }
}

export type WorldStorage = {
  readonly block: Record<string, unknown>;
  readonly env: Record<string, string>;
};
const inFile: WorldStorage = { block: { path: 'store/svc.db' }, env: {} };

const storeIn = (folder: string): string => join(folder, 'store');

/** What a turn is shown is what was said before it, each with its answer, nothing left out. */
class History {
  wrong = 0;

  answer({ body }: ModelCall, delayMs: number): { answer: string; delayMs: number } {
    const lines = (body as { messages: { content: string }[] }).messages.map(
      ({ content }) => content,
    );
    const last = lines.at(-1)!;
    const [conversation, number] = last.split(' ') as [string, string];
    const shown = Math.min(20, Number(number));
    const expected = Array.from({ length: shown }, (_, i) => {
      const said = `${conversation} ${Number(number) - shown + i}`;
      return [said, `re: ${said}`];
    });
    if (lines.slice(0, -1).join('\n') !== expected.flat().join('\n')) this.wrong++;
    return { answer: `re: ${last}`, delayMs };
  }
}
