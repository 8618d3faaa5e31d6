/** A process beside the proof: the proof sends it orders, and it answers each of them once. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

type Reply = { readonly id: number; readonly result?: unknown; readonly error?: string };

export class Helper<
  Orders extends { [Kind in keyof Orders]: (order: never) => unknown },
> implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, PromiseWithResolvers<unknown>>();
  #orders = 0;

  /** @param file a file of this folder that calls `serveOrders` */
  constructor(file: string) {
    this.#child = fork(join(import.meta.dirname, file));
    this.#child.on('message', (message) => {
      const { id, result, error } = message as Reply;
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(error));
    });
    this.#child.once('exit', (code, signal) => {
      for (const { reject } of this.#waiting.values()) {
        reject(new Error(`${file} ended with ${code ?? signal}`));
      }
    });
  }

  async order<Kind extends keyof Orders & string>(
    kind: Kind,
    ...[order]: Parameters<Orders[Kind]>
  ): Promise<Awaited<ReturnType<Orders[Kind]>>> {
    const id = this.#orders++;
    const waiting = Promise.withResolvers<unknown>();
    this.#waiting.set(id, waiting);
    this.#child.send({ id, kind, order });
    return (await waiting.promise) as Awaited<ReturnType<Orders[Kind]>>;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#waiting.clear();
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const exited = once(this.#child, 'exit');
    this.#child.kill('SIGKILL');
    await exited;
  }
}

/** The helper's side. It ends when the proof ends. */
export function serveOrders(orders: Readonly<Record<string, (order: never) => unknown>>): void {
  const serve = async (id: number, kind: string, order: never): Promise<Reply> => {
    try {
      return { id, result: await orders[kind]!(order) };
    } catch (error) {
      return { id, error: error instanceof Error ? error.message : String(error) };
    }
  };
  process.on('message', ({ id, kind, order }: { id: number; kind: string; order: never }) => {
    void serve(id, kind, order).then((reply) => process.send?.(reply));
  });
  process.on('disconnect', () => process.exit());
}
