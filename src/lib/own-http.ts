export const ownHttpVariable = 'SVC_OWN_HTTP';

/** false when the variable is "off" */
export function usesOwnHttp(env: Readonly<Record<string, string | undefined>>): boolean {
  return env[ownHttpVariable] !== 'off';
}
