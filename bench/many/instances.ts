/** Starts instances in their own processes, and sends them commands. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Answer, Word } from './instance.ts';

export class InstanceProcess {
  readonly id: number;
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess, { id }: Answer) {
    this.id = id;
    this.#child = child;
  }

  static async begin(url: string): Promise<InstanceProcess> {
    const script = join(import.meta.dirname, 'instance.ts');
    const child = fork(script, [url], { serialization: 'advanced' });
    return new InstanceProcess(child, await heard(child));
  }

  async ask(word: Word): Promise<Answer> {
    const answer = heard(this.#child);
    this.#child.send(word);
    return await answer;
  }

  /** Ends the process cleanly. */
  async close(): Promise<void> {
    const ended = once(this.#child, 'exit');
    await this.ask({ kind: 'close' });
    await ended;
  }

  async kill(): Promise<void> {
    const ended = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await ended;
  }
}

/** Sends a command to all instances at once. */
export function askAll(
  instances: readonly InstanceProcess[],
  word: Word,
): Promise<readonly Answer[]> {
  return Promise.all(instances.map((one) => one.ask(word)));
}

function heard(child: ChildProcess): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const ended = (code: number | null, signal: string | null): void =>
      reject(new Error(`an instance has ended by itself: ${code ?? signal}`));
    child.once('exit', ended);
    child.once('message', (answer) => {
      child.off('exit', ended);
      resolve(answer as Answer);
    });
  });
}
