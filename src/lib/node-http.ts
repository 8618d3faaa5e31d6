const load = () => process.getBuiltinModule('node:crypto');

let loaded: ReturnType<typeof load> | null = null;

/**
 * `node:crypto`, from its first use on: to load it is a tenth of the work of a start, and a service
 * asks nothing of it before it listens.
 */
export function nodeCrypto(): ReturnType<typeof load> {
  loaded ??= load();
  return loaded;
}

/**
 * What is used of `node:http`. Importing it by name makes Node read all of its exports, and one of
 * them loads a whole WebSocket client: 18 ms at every start, of which this way needs 2.
 */
export const { Agent, createServer, get, request, STATUS_CODES } =
  process.getBuiltinModule('node:http');

/** `node:https`, in the same way. It brings TLS, so only who makes a request loads it. */
export const loadHttps = () => process.getBuiltinModule('node:https');
