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
