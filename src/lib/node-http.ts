/** Modules of Node that svc loads late or without their unused parts, to start faster. */

const load = () => process.getBuiltinModule('node:crypto');

let loaded: ReturnType<typeof load> | null = null;

/**
 * `node:crypto`, loaded at its first use. Loading it is a tenth of the work of a start, and a
 * service does not need it before it listens.
 */
export function nodeCrypto(): ReturnType<typeof load> {
  loaded ??= load();
  return loaded;
}

/**
 * The used parts of `node:http`. Importing it by name makes Node read all of its exports, and one
 * of them loads a whole WebSocket client. That costs 18 ms at every start; this way costs 2 ms.
 */
export const { Agent, createServer, get, request, STATUS_CODES } =
  process.getBuiltinModule('node:http');

/** `node:https`, in the same way. It brings TLS, so only the code that makes a request loads it. */
export const loadHttps = () => process.getBuiltinModule('node:https');
