/** Which addresses a window shows itself, and which are for the person's browser. Pure. */

/** `wait`: nobody here knows it; it may be an origin that is about to be told. */
export type Way = 'here' | 'wait' | 'elsewhere' | 'nowhere';

/** @param origins all that the window shows, `http://127.0.0.1:<port>` each */
export function wayOf(url: string, origins: readonly string[]): Way {
  if (url === 'about:blank') return 'here';
  const parsed = URL.parse(url);
  if (parsed === null) return 'nowhere';
  if (origins.includes(parsed.origin)) return 'here';
  if (parsed.protocol === 'http:' && parsed.hostname === '127.0.0.1') return 'wait';
  return isForBrowser(url) ? 'elsewhere' : 'nowhere';
}

/** No file, no program of this machine: what a page leads to is of the web, or nothing. */
export function isForBrowser(url: string): boolean {
  const protocol = URL.parse(url)?.protocol;
  return protocol === 'https:' || protocol === 'http:';
}
