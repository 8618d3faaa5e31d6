/** The first run takes the addresses that svc has by default: one suite of tests at a time. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { until } from '../support/waiting.ts';

/** A name in the abstract namespace, so no file is left of a process that was killed. */
const turn = '\0svc-tests-first-run';

/** Waits until no other process of this machine has it; it goes with the scope. */
export async function takeTurn(): Promise<AsyncDisposable> {
  const server = await until('nobody else has the turn', async () => {
    const trying = createServer((socket) => socket.destroy());
    const listens = once(trying, 'listening').then(() => trying);
    trying.listen(turn);
    return listens.catch(() => null);
  });
  const close = async (): Promise<void> => {
    const closed = once(server, 'close');
    server.close();
    await closed;
  };
  return { [Symbol.asyncDispose]: close };
}
