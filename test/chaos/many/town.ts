/** The neighbours of several svc: people, a model, a receiver, and a balancer. */
import assert from 'node:assert/strict';
import type { FakeModel } from '../../fake/model-server.ts';
import { startFakeOllama } from '../../fake/ollama.ts';
import { ServerPair } from '../../fake/postgres/standby.ts';
import { startReceiver, type Receiver } from '../../fake/receiver.ts';
import { secret, webhookConfig } from '../../support/program.ts';
import { assertKept, audit, type Audit } from '../audit.ts';
import { Crowd } from '../crowd.ts';
import { History } from '../history.ts';
import { untilAnswered } from '../world.ts';
import { Balancer } from './balancer.ts';
import { Fleet } from './fleet.ts';

/** A paused svc is silent for longer than this. */
const answerMs = 2_000;

type Parts = Pick<Town, 'crowd' | 'model' | 'receiver' | 'fleet' | 'balancer' | 'servers'>;

export class Town implements AsyncDisposable {
  readonly crowd: Crowd;
  readonly model: FakeModel;
  readonly receiver: Receiver;
  readonly fleet: Fleet;
  readonly balancer: Balancer;
  readonly servers: ServerPair;
  readonly #history: History;
  readonly #pace: Pace;
  readonly #own: AsyncDisposableStack;

  private constructor(parts: Parts, history: History, pace: Pace, own: AsyncDisposableStack) {
    this.crowd = parts.crowd;
    this.model = parts.model;
    this.receiver = parts.receiver;
    this.fleet = parts.fleet;
    this.balancer = parts.balancer;
    this.servers = parts.servers;
    this.#history = history;
    this.#pace = pace;
    this.#own = own;
  }

  static async open(random: () => number, instances: number): Promise<Town> {
    await using own = new AsyncDisposableStack();
    const servers = own.use(await ServerPair.start());
    const receiver = own.use(await startReceiver());
    const [history, pace] = [new History(), { ...quick }];
    const model = own.use(
      await startFakeOllama((call) => {
        return history.answer(call, pace.modelMsMin + random() * pace.modelMs);
      }),
    );
    const where = { port: 1, adminPort: 2, modelUrl: model.url, receiverUrl: receiver.url };
    const document = webhookConfig(where);
    const env = { WEBHOOK_SECRET: secret };
    const parts = { servers, instances, random, document, hasWebhook: true, env };
    const fleet = own.use(await Fleet.start(parts));
    const balancer = own.use(await Balancer.before(fleet.instances, answerMs));
    const crowd = new Crowd(balancer.url, random, pace.pauseMs);
    own.defer(() => crowd.leave());
    const all = { crowd, model, receiver, fleet, balancer, servers };
    return new Town(all, history, pace, own.move());
  }

  /** Sets the speed of people and of the model from now on. */
  set pace(pace: Pace) {
    Object.assign(this.#pace, pace);
    this.crowd.pauseMs = pace.pauseMs;
  }

  /**
   * People stop, all accepted messages are answered, every svc stops as asked. Asserts that none is
   * lost, unmarked, out of order, run twice, dead or left over.
   */
  async conclude(): Promise<Audit> {
    const { crowd, fleet, receiver, balancer } = this;
    await crowd.end();
    await fleet.untilUp();
    await untilAnswered(this);
    await fleet.end();
    const figures = audit(crowd, receiver.received);
    const left = await fleet.rows.left();
    assertKept({ ...figures, ...left, 'wrong histories': this.#history.wrong });
    const others = [...balancer.statuses.keys()].filter((status) => ![200, 503].includes(status));
    assert.deepEqual(others, [], 'nothing but 200 and 503 is answered');
    return figures;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#own.disposeAsync();
  }
}

/** In milliseconds: a model's least time, its largest addition, and the pause of people. */
export type Pace = {
  readonly modelMsMin: number;
  readonly modelMs: number;
  readonly pauseMs: number;
};
export const quick: Pace = { modelMsMin: 0, modelMs: 30, pauseMs: 60 };
/** Messages queue up. */
export const slow: Pace = { modelMsMin: 300, modelMs: 200, pauseMs: 300 };
