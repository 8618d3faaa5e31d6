/**
 * What an error of the server, of the way to it, or of a pooler before it means for who asked.
 *
 * Source: PostgreSQL, appendix A, "Error Codes".
 */

/**
 * `away`: the connection is lost, or that server takes no writes; wait, connect, send again.
 * `again`: rolled back, and may do when it is sent again. `full`: the server has no room.
 * `fenced`: another instance took over. `conflict`: something stands elsewhere than was expected.
 * `fault`: all else.
 */
export type Fault = 'away' | 'again' | 'full' | 'fenced' | 'conflict' | 'fault';

/** A statement before it in the same transaction has failed, and that one says why. */
export const abortedState = '25P02';

const byState: Readonly<Record<string, Fault>> = {
  // The fence divides by the number of rows that it could change.
  '22012': 'fenced',
  // A move of a cursor takes the logarithm of nothing where one stands elsewhere.
  '2201E': 'conflict',
  // Connected to what was the primary, or to one that an administrator made read-only.
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

/** What the system says of a way that may be there again. */
const ofTheWay = new Set(
  (
    'ECONNREFUSED ECONNRESET ECONNABORTED EPIPE ETIMEDOUT EHOSTUNREACH EHOSTDOWN ENETUNREACH ' +
    'ENETDOWN ENETRESET ENOTFOUND EAI_AGAIN EAI_FAIL EADDRNOTAVAIL ENOENT EACCES EMFILE ENFILE ' +
    'ENOBUFS ENOMEM EPROTO SVC_TIMEOUT SVC_STANDBY SVC_READ_ONLY SVC_NO_TLS ABORT_ERR'
  ).split(' '),
);

/** What the client says where it has no code. */
const withoutCode =
  /^(?:Connection terminated|timeout expired|Client (?:has encountered|was closed))/;

export function faultOf(error: unknown): Fault {
  const { code, message, routine } = partsOf(error);
  if (code === '') return withoutCode.test(message) ? 'away' : 'fault';
  if (!/^[0-9A-Z]{5}$/.test(code) || ofTheWay.has(code)) {
    return ofTheWay.has(code) || isOfTls(code) ? 'away' : 'fault';
  }
  const kind = code.slice(0, 2);
  // The server says where in it an error arose; a pooler, which may find its server again, does
  // not. The server's own breach of the protocol is a fault of this program.
  if (kind === '08' || kind === 'XX') return routine === '' ? 'away' : 'fault';
  return byState[code] ?? byClass[kind] ?? 'fault';
}

/**
 * The error of a transaction whose statements were sent in one go, since all after the first that
 * failed say only that.
 * @param errors in the order of the statements
 */
export function firstOf(errors: readonly unknown[]): unknown {
  return errors.find((error) => codeOf(error) !== abortedState) ?? errors[0];
}

/** The server's SQLSTATE or the system's code; empty where there is none. */
export function codeOf(error: unknown): string {
  return partsOf(error).code;
}

/** Whether a code is of the encryption: a certificate, or what both sides can speak. */
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
  const of = (name: string): string => {
    const value = (error as Readonly<Record<string, unknown>>)[name];
    return typeof value === 'string' ? value : '';
  };
  return { code: of('code'), message: of('message'), routine: of('routine') };
}
