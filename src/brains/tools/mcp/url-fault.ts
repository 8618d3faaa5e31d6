/**
 * Why a server at a url did not answer, and how to mend it. All words are svc's own. The path of a
 * url is left out: some paths hold a secret.
 */
import { farAddressCode } from '../../../lib/private-connector.ts';
import type { AnswerHeaders, HttpResult } from '../../../lib/http-client/exchange.ts';

export class UrlFault extends Error {
  /** Part of a sentence about the server, for readers who cannot act on the remedy. */
  readonly what: string;
  /** For an operator. */
  readonly reason: string;
  /** The server may have begun the request. */
  readonly mayHaveRun: boolean;
  /** The server no longer knows the session, so it did nothing; a new session may begin. */
  readonly hasForgotten: boolean;

  constructor([what, remedy]: Words, mayHaveRun: boolean, hasForgotten = false) {
    super(what);
    this.what = what;
    this.reason = `${what}: ${remedy}`;
    this.mayHaveRun = mayHaveRun;
    this.hasForgotten = hasForgotten;
  }
}

/** Why a connection is over when its server has forgotten the session. */
export const sessionOver = 'its session is over';

export function isSessionOver(error: unknown): boolean {
  return error instanceof UrlFault && error.hasForgotten;
}

/** For an operator; null: the error is no fault of a url. */
export function reasonOf(error: unknown): string | null {
  return error instanceof UrlFault ? error.reason : null;
}

type Words = readonly [what: string, remedy: string];

export type UrlAsked = {
  readonly url: URL;
  readonly hasToken: boolean;
  /** The request belonged to a session. */
  readonly hasSession: boolean;
};

const lookAtLog = 'look into the log of the server';
const lookAtPath = 'check the path of url; many servers have theirs at /mcp';

type Fault = Extract<HttpResult, { kind: 'fault' }>;

export function faultOfClient({ fault, code, sent }: Fault, { url }: UrlAsked): UrlFault {
  return new UrlFault(wordsOfClient(fault, code, url), sent);
}

function wordsOfClient(fault: Fault['fault'], code: string | null, { host }: URL): Words {
  const system = code === null ? '' : ` (${code})`;
  if (code === farAddressCode) {
    const remedy = 'this brain or this url uses servers of this machine and private networks only';
    return ['its name leads to a public address', remedy];
  }
  if (code === 'ECONNREFUSED') {
    return [`nothing listens there${system}`, `start the server at ${host}, or correct its url`];
  }
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') {
    return [`its name is not found${system}`, `correct ${host} in url, or the name server`];
  }
  if (code !== null && ofTls.test(code)) {
    const remedy = 'mend its certificate, or give svc your own authority by NODE_EXTRA_CA_CERTS';
    return [`the encryption failed${system}`, remedy];
  }
  switch (fault) {
    case 'connect_failed':
      return [`it cannot be connected to${system}`, `start the server at ${host}, or correct url`];
    case 'connect_timeout':
      return ['it takes no connection in time', `check the network and firewalls before ${host}`];
    case 'timeout':
      return ['it did not answer in time', `${lookAtLog}, or raise timeout_seconds`];
    case 'connection_lost':
      return [`it closed the connection before its answer was whole${system}`, lookAtLog];
    case 'answer_too_large':
      return ['its answer has more than 1 MiB', 'have the tool give back less'];
    case 'cancelled':
      return ['the request was given up', 'nothing needs to be done'];
    default:
      return fault satisfies never;
  }
}

const ofTls =
  /^(?:ERR_SSL_|ERR_TLS_|UNABLE_TO_|CERT_|CRL_|SELF_SIGNED_|DEPTH_ZERO_|INVALID_CA|HOSTNAME_)/;

type Answered = {
  readonly status: number;
  readonly headers: AnswerHeaders;
  readonly body: string;
};

/**
 * @param answer with a status that is no success Source of the meaning of 404: MCP 2025-11-25,
 *   basic/transports, "Session Management". Many servers answer 400 instead (python-sdk#1004,
 *   fastmcp#121, affine-mcp-server#301).
 */
export function faultOfStatus(answer: Answered, asked: UrlAsked): UrlFault {
  const { status, body } = answer;
  const isOver = status === 404 || (status === 400 && ofSession.test(body.slice(0, 4_096)));
  if (asked.hasSession && isOver) {
    const words = [`it knows the session no more (HTTP ${status})`, 'svc begins another'] as const;
    return new UrlFault(words, false, true);
  }
  if (status === 400 && ofRevision.test(body.slice(0, 4_096))) {
    const what = `it refuses the revision of the protocol that svc speaks (HTTP ${status})`;
    return new UrlFault([what, 'update the server'], false);
  }
  return new UrlFault(wordsOfStatus(answer, asked), status >= 500);
}

/** Some refuse the newest revision instead of naming their own: xiaohongshu-mcp#697. */
export const ofRevision = /protocol version/i;

const ofSession = /session|not initiali[sz]ed/i;

function wordsOfStatus({ status, headers }: Answered, { url, hasToken }: UrlAsked): Words {
  const http = `(HTTP ${status})`;
  if (status >= 300 && status < 400) {
    const remedy = 'write the address that it leads to into url; svc follows no redirect';
    return [`it redirects${whereTo(headers['location'], url)} ${http}`, remedy];
  }
  switch (status) {
    case 401:
      return hasToken
        ? [`it refuses the token ${http}`, 'check the value of the variable in token_env']
        : [`it wants a token ${http}`, 'name the variable that holds the token in token_env'];
    case 403: {
      const remedy = 'check the rights of the token, and which hosts and origins the server allows';
      return [`it forbids the request ${http}`, remedy];
    }
    case 404:
      return [`there is nothing at the path of its url ${http}`, lookAtPath];
    case 405: {
      const remedy = 'check the path of url; a server of the old transport (SSE) cannot be used';
      return [`it takes no POST at the path of its url ${http}`, remedy];
    }
    case 421:
      // The Python SDK's guard against DNS rebinding: TransportSecuritySettings.allowed_hosts.
      return [`it does not serve this name ${http}`, `add ${url.host} to the hosts it allows`];
    case 429:
      return [`it takes no more requests now ${http}`, 'wait, or raise its limit'];
    default:
      return [status >= 500 ? `it failed ${http}` : `it refused the request ${http}`, lookAtLog];
  }
}

/** In words: the address itself is a stranger's text, and may hold a secret. */
function whereTo(location: AnswerHeaders[string], url: URL): string {
  if (typeof location !== 'string' || !URL.canParse(location, url.href)) return '';
  const to = new URL(location, url.href);
  if (to.hostname !== url.hostname) return ' to another host';
  if (to.protocol !== url.protocol) return ` to ${to.protocol.slice(0, -1)}`;
  return to.pathname === `${url.pathname}/` ? ' to the same path with a slash' : ' to another path';
}

/** @param type of an answer with a status of success; null: it has none */
export function faultOfType(type: string | null): UrlFault {
  if (type === null) return new UrlFault(['it answered with nothing', lookAtPath], true);
  if (/\bhtml\b/i.test(type)) {
    const remedy = `${lookAtPath}, and whether a page to sign in stands before it`;
    return new UrlFault(['it answered with a web page (HTML)', remedy], true);
  }
  return new UrlFault(['it answered with something other than JSON', lookAtPath], true);
}

/** For an answer that is no message, or not the requested one. */
export function faultOfAnswer(what: 'no_json' | 'no_result' | 'too_many'): UrlFault {
  const words = {
    no_json: 'its answer is no JSON',
    no_result: 'its answer ended without a result',
    too_many: 'it sent too many messages in one answer',
  } as const;
  return new UrlFault([words[what], lookAtLog], true);
}
