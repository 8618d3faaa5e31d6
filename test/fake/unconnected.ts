import type { Server } from 'node:http';
import { until } from '../support/waiting.ts';

/** Looks without a connection, one after the other, after which none is at the door. */
const looksMin = 3;

/** Resolves once nobody is connected: all that a process which has ended sent was read. */
export async function untilUnconnected(server: Server): Promise<void> {
  // Between two looks a turn of the loop lets those in whom the system holds at the door.
  let quietLooks = 0;
  await until('an end of all connections', async () => {
    const open = await new Promise((resolve) => server.getConnections((_, n) => resolve(n)));
    quietLooks = open === 0 ? quietLooks + 1 : 0;
    return quietLooks === looksMin;
  });
}
