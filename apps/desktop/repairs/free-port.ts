/** A port of this machine on which nobody listens. */
import { createServer } from 'node:net';

/**
 * @param host as in a configuration; empty: every interface
 * @param wanted in the order in which they are tried; any other one, where none is free
 * @returns the system's code, where no port of this host can be had
 */
export async function findFreePort(
  host: string,
  wanted: readonly number[],
): Promise<number | { readonly code: string }> {
  for (const port of wanted) {
    const bound = await bind(host, port);
    if (typeof bound === 'number') return bound;
    if (bound.code !== 'EADDRINUSE' && bound.code !== 'EACCES') return bound;
  }
  return bind(host, 0);
}

/** Binds it and lets it go again. */
function bind(host: string, port: number): Promise<number | { readonly code: string }> {
  const { promise, resolve } = Promise.withResolvers<number | { readonly code: string }>();
  const server = createServer();
  server.once('error', ({ code = 'UNKNOWN' }: NodeJS.ErrnoException) => resolve({ code }));
  server.listen(host === '' ? { port } : { port, host }, () => {
    const bound = server.address();
    const real = typeof bound === 'object' && bound !== null ? bound.port : port;
    server.close(() => resolve(real));
  });
  return promise;
}
