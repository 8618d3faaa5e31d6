/** A lock for one suite at a time, since the first run uses the default addresses of svc. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { until } from '../support/waiting.ts';

/** A name in the abstract namespace, so a killed process leaves no file. */
const turn = '\0svc-tests-first-run';

/** Waits until no other process of this machine has the lock; disposing releases it. */
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
