import type { Server } from 'node:http';
import { until } from '../support/waiting.ts';

/** Checks in a row without a connection, after which none can still be arriving. */
const checksMin = 3;

/** Resolves once nobody is connected: all that an ended process sent was read. */
export async function untilUnconnected(server: Server): Promise<void> {
  // Between two checks a turn of the loop accepts connections that the system holds back.
  let quietChecks = 0;
  await until('an end of all connections', async () => {
    const open = await new Promise((resolve) => server.getConnections((_, n) => resolve(n)));
    quietChecks = open === 0 ? quietChecks + 1 : 0;
    return quietChecks === checksMin;
  });
}
