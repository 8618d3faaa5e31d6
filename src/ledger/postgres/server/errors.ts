/**
 * What an error means to the caller: an error of the server, of the connection to it, or of a
 * pooler in front of it.
 *
 * Source: PostgreSQL, appendix A, "Error Codes".
 */

/**
 * - `away`: the connection is lost, or that server takes no writes. Wait, connect, send again.
 * - `again`: the transaction is rolled back, and may succeed when it is sent again.
 * - `full`: the server has no room.
 * - `fenced`: another instance took over.
 * - `conflict`: a row has another state than the statement expected.
 * - `fault`: all else.
 */
export type Fault = 'away' | 'again' | 'full' | 'fenced' | 'conflict' | 'fault';

/** An earlier statement of the transaction failed; the error of that one says why. */
export const abortedState = '25P02';

const byState: Readonly<Record<string, Fault>> = {
  // The fence divides by the number of rows that it could change: none means that it is fenced.
  '22012': 'fenced',
  // A statement that moves a cursor takes the logarithm of 0 when the cursor stands elsewhere.
  '2201E': 'conflict',
  // The connection leads to a former primary, or an administrator made the server read-only.
  '25006': 'away',
  // The server ended the connection, and with it the transaction.
  '25P03': 'away',
  '25P04': 'away',
  '40003': 'away',
  // Too many connections.
  '53300': 'away',
  '55P03': 'again',
  '57014': 'again',
  '57P01': 'away',
  '57P02': 'away',
  '57P03': 'away',
  '57P05': 'away',
};

const byClass: Readonly<Record<string, Fault>> = { '08': 'away', '40': 'again', '53': 'full' };

/** Codes of the system and of `connect.ts` for a server that may be reachable again later. */
const connectionCodes = new Set(
  (
    'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH EHOSTDOWN ENETUNREACH ' +
    'ENETDOWN ENETRESET ENOTFOUND EAI_AGAIN EAI_FAIL EADDRNOTAVAIL ENOENT EACCES EMFILE ENFILE ' +
    'ENOBUFS ENOMEM EPROTO SVC_TIMEOUT SVC_STANDBY SVC_READ_ONLY SVC_NO_TLS ABORT_ERR'
  ).split(' '),
);

/** Messages of the client library that come without a code. */
const awayMessages =
  /^(?:Connection terminated|timeout expired|Client (?:has encountered|was closed))/;

export function faultOf(error: unknown): Fault {
  const { code, message, routine } = partsOf(error);
  if (code === '') return awayMessages.test(message) ? 'away' : 'fault';
  if (!/^[0-9A-Z]{5}$/.test(code) || connectionCodes.has(code)) {
    return connectionCodes.has(code) || isOfTls(code) ? 'away' : 'fault';
  }
  const kind = code.slice(0, 2);
  // An error of the server names the server's function in `routine`. An error of a pooler does not,
  // and the pooler may find its server again. A protocol error that the server reports is a fault
  // of this program.
  if (kind === '08' || kind === 'XX') return routine === '' ? 'away' : 'fault';
  return byState[code] ?? byClass[kind] ?? 'fault';
}

/**
 * The cause, when a transaction's statements were sent together: each statement after the first
 * failed one only says that an earlier one failed.
 * @param errors in the order of the statements
 */
export function firstOf(errors: readonly unknown[]): unknown {
  return errors.find((error) => codeOf(error) !== abortedState) ?? errors[0];
}

/** The server's SQLSTATE or the system's code; empty where there is none. */
export function codeOf(error: unknown): string {
  return partsOf(error).code;
}

/**
 * Whether a code concerns the encryption: a certificate, or the versions that both sides speak.
 */
export function isOfTls(code: string): boolean {
  return (
    /^ERR_(?:SSL|TLS)_/.test(code) ||
    /^(?:UNABLE_TO_|CERT_|CRL_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|PATH_LENGTH|HOSTNAME_)/.test(
      code,
    )
  );
}

type Parts = { readonly code: string; readonly message: string; readonly routine: string };

function partsOf(error: unknown): Parts {
  if (typeof error !== 'object' || error === null) return { code: '', message: '', routine: '' };
  const textIn = (name: string): string => {
    const value = (error as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'string' ? value : '';
  };
  return { code: textIn('code'), message: textIn('message'), routine: textIn('routine') };
}
