/**
 * The switch of the HTTP that is svc's own: the quick way into the webhook, and the plain client.
 * Both are on trial (docs/decisions), and without them everything goes through `node:http` and
 * undici.
 */
export const ownHttpVariable = 'SVC_OWN_HTTP';

/** @returns false when the variable is "off" */
export function usesOwnHttp(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[ownHttpVariable] !== 'off';
}
