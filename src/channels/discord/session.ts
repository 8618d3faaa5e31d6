/**
 * Where we are in Discord's stream of events. The platform keeps what it sent in a session for a
 * while and repeats it from any sequence number, so the number here is that of the last event
 * whose message the ledger has; the library's own, which runs ahead of that, is never used.
 */
import { isGatewayUrl, isLater } from './wire.ts';

/** `sequence` moves on with each commit, and only then. */
export type Session = {
  readonly id: string;
  readonly resumeUrl: string;
  sequence: number;
  /** What was said between the last session and this one is not fetched yet. */
  behind: boolean;
};

/** After so many resumes that came to nothing, a new session is begun. */
const failedResumesMax = 3;

export class Sessions {
  current: Session | null;
  /** The id of the newest message that the ledger has; null: it never had one. */
  newest: string | null;
  /** The bot's own user id, as the session's begin told it; null: it never did. */
  self: string | null;
  #failedResumes = 0;

  /** @param text as `textOf` made it; null: there was no session yet */
  constructor(text: string | null) {
    const kept = parse(text);
    this.current = kept?.session ?? null;
    this.newest = kept?.newest ?? null;
    this.self = kept?.self ?? null;
  }

  /** A new session has begun, at that sequence. */
  begin(id: string, resumeUrl: string, sequence: number): void {
    this.current = { id, resumeUrl, sequence, behind: true };
    this.#failedResumes = 0;
  }

  lose(): void {
    this.current = null;
    this.#failedResumes = 0;
  }

  /** The platform repeats from here; whatever failed before no longer counts. */
  resumed(): void {
    this.#failedResumes = 0;
  }

  /** A connection ended before its session was resumed. */
  resumeFailed(): void {
    if (this.current !== null && ++this.#failedResumes >= failedResumesMax) this.lose();
  }

  /** What is kept when the ledger has everything up to that sequence and that message. */
  textOf(session: Session, sequence: number, newest: string | null): string {
    const { id, resumeUrl } = session;
    return JSON.stringify({ id, resumeUrl, sequence, newest, self: this.self });
  }

  /** The ledger has everything up to that sequence and that message. */
  advance(session: Session, sequence: number, newest: string | null): void {
    session.sequence = Math.max(session.sequence, sequence);
    this.newest = newest;
  }
}

/** The later one of two message ids. */
export function laterOf(a: string | null, b: string | null): string | null {
  if (a === null || b === null) return a ?? b;
  return isLater(a, b) ? a : b;
}

type Kept = {
  readonly session: Session;
  readonly newest: string | null;
  readonly self: string | null;
};

function parse(text: string | null): Kept | null {
  try {
    const kept = JSON.parse(text ?? 'null') as Record<string, unknown> | null;
    const { id, resumeUrl, sequence, newest, self } = kept ?? {};
    if (typeof id !== 'string' || typeof resumeUrl !== 'string') return null;
    if (typeof sequence !== 'number' || !isGatewayUrl(resumeUrl)) return null;
    const session = { id, resumeUrl, sequence, behind: false };
    const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
    return { session, newest: textOf(newest), self: textOf(self) };
  } catch {
    return null;
  }
}
