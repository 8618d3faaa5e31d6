/** Decides which addresses a window shows itself, and which go to the person's browser. Pure. */

/** `wait`: no known origin; the shell may be about to announce it. */
export type Way = 'here' | 'wait' | 'elsewhere' | 'nowhere';

/** @param origins the only ones that the window shows, `http://127.0.0.1:<port>` each */
export function wayOf(url: string, origins: readonly string[]): Way {
  if (url === 'about:blank') return 'here';
  const parsed = URL.parse(url);
  if (parsed === null) return 'nowhere';
  if (origins.includes(parsed.origin)) return 'here';
  if (parsed.protocol === 'http:' && parsed.hostname === '127.0.0.1') return 'wait';
  return isForBrowser(url) ? 'elsewhere' : 'nowhere';
}

/** True for web addresses only. A page cannot open a file or a program of this machine. */
export function isForBrowser(url: string): boolean {
  const protocol = URL.parse(url)?.protocol;
  return protocol === 'https:' || protocol === 'http:';
}
