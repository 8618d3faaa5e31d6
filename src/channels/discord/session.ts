/**
 * The position in Discord's stream of events. The platform keeps the events of a session for a
 * while, and repeats them from any sequence number. The number here is that of the last event whose
 * message the ledger has. The library's own number runs ahead, so svc never uses it.
 */
import { isGatewayUrl, isLater } from './wire.ts';

/** `sequence` moves only with a commit. */
export type Session = {
  readonly id: string;
  readonly resumeUrl: string;
  sequence: number;
  /** Whether the messages between the last session and this one are still to be fetched. */
  behind: boolean;
};

/** After so many failed resumes svc begins a new session. */
const failedResumesMax = 3;

export class Sessions {
  current: Session | null;
  /** The id of the newest message in the ledger; null: there is none. */
  newest: string | null;
  /** The bot's own user id, as the session reported it; null: none did. */
  self: string | null;
  #failedResumes = 0;

  /** @param text a former result of `textOf`; null: there is none */
  constructor(text: string | null) {
    const stored = parse(text);
    this.current = stored?.session ?? null;
    this.newest = stored?.newest ?? null;
    this.self = stored?.self ?? null;
  }

  /** Begins a new session at that sequence. */
  begin(id: string, resumeUrl: string, sequence: number): void {
    this.current = { id, resumeUrl, sequence, behind: true };
    this.#failedResumes = 0;
  }

  lose(): void {
    this.current = null;
    this.#failedResumes = 0;
  }

  /** Notes a resume: the platform repeats from here, and former failures no longer count. */
  resumed(): void {
    this.#failedResumes = 0;
  }

  /** Notes a connection that ended before its session was resumed. */
  resumeFailed(): void {
    if (this.current !== null && ++this.#failedResumes >= failedResumesMax) this.lose();
  }

  /** The text to store once the ledger has everything up to that sequence and that message. */
  textOf(session: Session, sequence: number, newest: string | null): string {
    const { id, resumeUrl } = session;
    return JSON.stringify({ id, resumeUrl, sequence, newest, self: this.self });
  }

  /** Notes that the ledger has everything up to that sequence and that message. */
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

type StoredSession = {
  readonly session: Session;
  readonly newest: string | null;
  readonly self: string | null;
};

function parse(text: string | null): StoredSession | null {
  try {
    const stored = JSON.parse(text ?? 'null') as Record<string, unknown> | null;
    const { id, resumeUrl, sequence, newest, self } = stored ?? {};
    if (typeof id !== 'string' || typeof resumeUrl !== 'string') return null;
    if (typeof sequence !== 'number' || !isGatewayUrl(resumeUrl)) return null;
    const session = { id, resumeUrl, sequence, behind: false };
    const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
    return { session, newest: textOf(newest), self: textOf(self) };
  } catch {
    return null;
  }
}
