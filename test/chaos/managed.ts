/**
 * svc under a service manager, which starts it again after an end during its start, because the
 * database's server was out of reach. An end after it listened is a failure.
 */
import assert from 'node:assert/strict';
import type { Program } from '../support/program.ts';
import { patienceMs } from '../support/waiting.ts';

export class Managed implements AsyncDisposable {
  readonly #spawn: () => Promise<Program>;
  #program: Program;
  /** Starts that ended by themselves. */
  failedStarts = 0;

  private constructor(spawn: () => Promise<Program>, program: Program) {
    this.#spawn = spawn;
    this.#program = program;
  }

  /** Starts svc, and does not wait until it listens. */
  static async start(spawn: () => Promise<Program>): Promise<Managed> {
    return new Managed(spawn, await spawn());
  }

  get program(): Program {
    return this.#program;
  }

  get ended(): Promise<number | string> {
    return this.#program.ended;
  }

  /** Resolves once a line in the log of the last start holds the text. */
  async saw(text: string): Promise<void> {
    // A server that recovers is soon back.
    for (const began = performance.now(); ;) {
      try {
        return await this.#program.saw(text);
      } catch (error) {
        const mayStart = performance.now() - began < patienceMs && (await this.#missedTheServer());
        if (!mayStart) throw error;
        this.failedStarts++;
        this.#program = await this.#spawn();
      }
    }
  }

  /** SIGKILL, and a start that does not listen yet. */
  async kill(): Promise<void> {
    this.#program.child.kill('SIGKILL');
    const how = await this.#program.ended;
    const isMine = how === 'SIGKILL' || (await this.#missedTheServer());
    assert.ok(isMine, `it ended by itself: ${how}\n${this.#program.log().slice(-4_000)}`);
    this.#program = await this.#spawn();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#program[Symbol.asyncDispose]();
  }

  async #missedTheServer(): Promise<boolean> {
    const log = this.#program.log();
    const how = await this.#program.ended;
    return how === 1 && !log.includes('"listening"') && /service_failed.*database/i.test(log);
  }
}
