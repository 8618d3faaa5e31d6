/**
 * Errors that svc throws through the library and catches around the call. The library's own errors
 * hold requests.
 */
import type { HttpFault } from '../../lib/http-client/exchange.ts';

/** Keeps the library from waiting after a 429 and from retrying. `unasked`: nothing was sent. */
export class Limited extends Error {
  readonly retryAfterMs: number;
  readonly unasked: boolean;

  constructor(ms: number, unasked: boolean) {
    super('429');
    this.retryAfterMs = ms;
    this.unasked = unasked;
  }
}

export class Fault extends Error {
  readonly fault: HttpFault;
  readonly sent: boolean;

  constructor(fault: HttpFault, sent: boolean) {
    super(fault);
    this.fault = fault;
    this.sent = sent;
  }
}

export class Redirect extends Error {
  readonly status: number;

  constructor(status: number) {
    super('a redirect is not followed');
    this.status = status;
  }
}
