/**
 * Rate limits of the fake: one window for each route and channel, and one for the whole bot. Page:
 * https://discord.com/developers/docs/topics/rate-limits.
 */
import { createHash } from 'node:crypto';

export type Limit = { readonly requests: number; readonly windowMs: number };
export type Limited = {
  readonly status: 429;
  readonly headers: Record<string, string>;
  readonly body: object;
};
export type Scope = 'user' | 'global' | 'shared';

export class RateLimits {
  /** The number of refused requests. */
  refused = 0;
  readonly #windows = new Map<string, { endsAt: number; used: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /**
   * Counts a request.
   * @param major the part of the limit's key beside the route: the channel
   * @returns the headers of every answer, or the 429
   */
  count(
    route: string,
    major: string,
    limit: Limit,
    scope: Scope,
  ): Record<string, string> | Limited {
    const key = `${route} ${major}`;
    const now = this.#now();
    let window = this.#windows.get(key);
    if (window === undefined || window.endsAt <= now) {
      window = { endsAt: now + limit.windowMs, used: 0 };
      this.#windows.set(key, window);
    }
    window.used++;
    const left = limit.requests - window.used;
    const resetAfter = (window.endsAt - now) / 1_000;
    const headers = {
      'x-ratelimit-limit': String(limit.requests),
      'x-ratelimit-remaining': String(Math.max(left, 0)),
      'x-ratelimit-reset': String(window.endsAt / 1_000),
      'x-ratelimit-reset-after': String(resetAfter),
      'x-ratelimit-bucket': createHash('md5').update(route).digest('hex'),
    };
    if (left < 0) this.refused++;
    if (left >= 0) return scope === 'global' ? {} : headers;
    return tooMany(resetAfter, scope, headers);
  }
}

/** @param retryAfter seconds */
export function tooMany(
  retryAfter: number,
  scope: Scope,
  headers: Record<string, string> = {},
): Limited {
  const shared = scope === 'shared';
  return {
    status: 429,
    headers: {
      ...(scope !== 'global' && headers),
      'retry-after': String(Math.ceil(retryAfter)),
      'x-ratelimit-scope': scope,
      ...(scope === 'global' && { 'x-ratelimit-global': 'true' }),
    },
    body: {
      message: shared ? 'The resource is being rate limited.' : 'You are being rate limited.',
      retry_after: retryAfter,
      global: scope === 'global',
    },
  };
}
