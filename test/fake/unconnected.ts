import type { Server } from 'node:http';

/** Resolves once nobody is connected: all that a process which has ended sent was read. */
export async function untilUnconnected(server: Server): Promise<void> {
  for (let open = 1; open > 0;) {
    // Meanwhile those are let in that the system holds at the door.
    await new Promise((resolve) => setTimeout(resolve, 5));
    open = await new Promise((resolve) => server.getConnections((_, n) => resolve(n)));
  }
}
