/**
 * The switch of the HTTP that is svc's own: the plain client. It is on trial (docs/decisions), and
 * without it all that is sent goes through undici.
 */
export const ownHttpVariable = 'SVC_OWN_HTTP';

/** @returns false when the variable is "off" */
export function usesOwnHttp(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[ownHttpVariable] !== 'off';
}
