/** The parameters of a server's URL, each under libpq's name. */
import type { Encryption } from './address.ts';

export type Parameters = {
  readonly host?: string;
  readonly port?: string;
  readonly user?: string;
  readonly password?: string;
  readonly dbname?: string;
  readonly sslmode?: Encryption;
  readonly sslrootcert?: string;
  readonly connectTimeoutMs?: number;
  readonly application_name?: string;
};

type Read = { readonly parameters: Parameters; readonly problems: readonly string[] };

/** They are as they stand, while the others are read. */
const texts = ['host', 'port', 'user', 'password', 'dbname', 'sslrootcert', 'application_name'];
const known = [...texts, 'sslmode', 'connect_timeout', 'target_session_attrs'];

const modes: Readonly<Record<string, Encryption>> = {
  disable: 'disable',
  // Both would go on without encryption where somebody on the way says that there is none.
  allow: 'require',
  prefer: 'require',
  require: 'require',
  'verify-ca': 'verify-ca',
  'verify-full': 'verify-full',
};
const timeoutSecondsMax = 300;

const others = `It knows ${known.join(', ')}.`;

/** @param query without the question mark */
export function parametersOf(query: string): Read {
  const parameters: Record<string, unknown> = {};
  const problems: string[] = [];
  // URLSearchParams would make a space of a plus sign, which may be in a password.
  const pairs = query.split('&').filter((pair) => pair !== '');
  for (const pair of pairs) {
    const [name = '', ...rest] = pair.split('=');
    const value = decode(rest.join('='));
    if (value === null) problems.push(`The URL's ${nameOf(name)} has a % that begins no code.`);
    else if (Object.hasOwn(parameters, name)) problems.push(`The URL has ${nameOf(name)} twice.`);
    else {
      const wrong = take(parameters, name, value);
      if (wrong !== null) problems.push(wrong);
    }
  }
  return { parameters: parameters, problems };
}

/** @returns what is wrong with it */
function take(parameters: Record<string, unknown>, name: string, value: string): string | null {
  if (texts.includes(name)) {
    if (value !== '') parameters[name] = value;
    return null;
  }
  switch (name) {
    case 'sslmode':
      parameters[name] = Object.hasOwn(modes, value) ? modes[value] : undefined;
      if (parameters[name] !== undefined) return null;
      return `The URL's sslmode has to be one of ${Object.keys(modes).join(', ')}.`;
    case 'connect_timeout': {
      const seconds = /^\d{1,3}$/.test(value) ? Number(value) : 0;
      if (seconds < 1 || seconds > timeoutSecondsMax) {
        return `The URL's connect_timeout has to be whole seconds from 1 to ${timeoutSecondsMax}.`;
      }
      parameters['connectTimeoutMs'] = seconds * 1_000;
      return null;
    }
    // That is what svc does in any case.
    case 'target_session_attrs':
      if (['read-write', 'primary', 'any', ''].includes(value)) return null;
      return (
        "The URL's target_session_attrs has to be read-write: svc writes. " +
        'Take it out, since svc looks for the primary in any case.'
      );
    default:
      return `The URL has ${nameOf(name)}, which svc does not know; take it out. ${others}`;
  }
}

/** What is no name may be a piece of a password. */
function nameOf(name: string): string {
  return /^[a-z][a-z_]{1,40}$/.test(name) ? name : 'a parameter';
}

function decode(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
