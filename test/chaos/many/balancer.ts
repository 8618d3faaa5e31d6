/**
 * A balancer before several svc. It gives each request to the next instance, and tries another one
 * where nobody listens, the status is 503, or no answer comes. It repeats the same headers, so that
 * an instance recognises a repeated message.
 */
import { once } from 'node:events';
import {
  Agent,
  createServer,
  type IncomingMessage,
  type ServerResponse,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { ask, type Asked } from '../outside.ts';
import type { Instance } from './instance.ts';
import { patienceMs } from '../../support/waiting.ts';

/** The number of attempts at each instance for one request. */
const rounds = 2;

export class Balancer implements AsyncDisposable {
  /** Counts of each status. */
  readonly statuses = new Map<number, number>();
  /** Requests without an answer that went to the next instance. */
  unanswered = 0;
  /** By the id of a message: the instance that answered 200. */
  readonly takenBy = new Map<string, Instance>();
  readonly #instances: readonly Instance[];
  readonly #agents = new Map<Instance, Agent>();
  readonly #server: Server;
  readonly #answerMs: number;
  #next = 0;

  private constructor(instances: readonly Instance[], answerMs: number) {
    this.#instances = instances;
    this.#answerMs = answerMs;
    for (const one of instances) this.#agents.set(one, new Agent({ keepAlive: true }));
    this.#server = createServer((request, response) => void this.#take(request, response));
    // Longer than any pause of a speaker.
    this.#server.keepAliveTimeout = patienceMs;
  }

  /** @param answerMs the longest wait for an answer */
  static async before(instances: readonly Instance[], answerMs = patienceMs): Promise<Balancer> {
    const balancer = new Balancer(instances, answerMs);
    balancer.#server.listen(0, '127.0.0.1');
    await once(balancer.#server, 'listening');
    return balancer;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/webhook`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    for (const agent of this.#agents.values()) agent.destroy();
    if (this.#server.listening) await once(this.#server, 'close');
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    try {
      for await (const part of request.setEncoding('utf8')) body += part as string;
    } catch {
      return;
    }
    const { authorization = '', 'content-type': type = '' } = request.headers;
    const id = String(request.headers['webhook-id']);
    const headers = { authorization, 'content-type': type, 'webhook-id': id };
    const answer = await this.#answer(headers, body);
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.body);
  }

  async #answer(headers: Record<string, string>, body: string): Promise<Asked> {
    for (let tried = 0; tried < rounds * this.#instances.length; tried++) {
      const instance = this.#instances[this.#next++ % this.#instances.length]!;
      const agent = this.#agents.get(instance)!;
      const { port } = instance;
      const asked = { port, path: '/webhook', agent, headers, body, timeoutMs: this.#answerMs };
      const answer = await ask(asked);
      if (answer === null) {
        if (instance.isUp) this.unanswered++;
        continue;
      }
      this.statuses.set(answer.status, (this.statuses.get(answer.status) ?? 0) + 1);
      if (answer.status === 503) continue;
      if (answer.status === 200) this.#note(instance, answer.body);
      return answer;
    }
    return { status: 503, body: '{}' };
  }

  #note(instance: Instance, body: string): void {
    const { message_id: id } = JSON.parse(body) as { message_id: string };
    if (!this.takenBy.has(id)) this.takenBy.set(id, instance);
  }
}
