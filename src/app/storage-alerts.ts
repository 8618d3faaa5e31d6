/** Turns the ledger's news into log lines, counts, health and warnings. */
import { dayMs, hourMs, minuteMs } from '../lib/durations.ts';
import type { StoragePlace } from '../config/storage-place.ts';
import type { Health, WarningStatus } from '../admin/admin.ts';
import type { Events } from '../domain/event.ts';
import { storageRemedies } from '../domain/remedy.ts';
import type { LedgerNews, StorageRoom } from '../ledger/ledger.ts';
import { describeHolder } from '../lib/holders.ts';

export type StorageAlerts = {
  readonly news: LedgerNews;
  /** @param aheadMs how far the server's clock is ahead of this machine's; negative: behind */
  readonly clockIs: (aheadMs: number) => void;
  /** The storage has failed for good, and svc ends. */
  readonly failed: (error: unknown) => void;
  /** Failing while the storage can accept nothing. */
  health(): Health;
  warnings(): readonly WarningStatus[];
};

/**
 * Listens for as long as the process lives.
 * @param place null: in memory, which has no news
 */
export function watchStorage(events: Events, place: StoragePlace | null): StorageAlerts {
  const backend = place?.kind ?? 'file';
  let room: StorageRoom = { kind: 'ok' };
  const skew = new ClockSkew(events);
  const news: LedgerNews = {
    storageRoom(now) {
      const before = room;
      room = now;
      const warning = warningOf(now, backend);
      if (warning === null) {
        const again = before.kind === 'away' ? answersAgain : hasRoomAgain;
        events.noticed(before.kind === 'locked' ? isFreeAgain : again);
        return;
      }
      const { code, path, message, remedy } = warning;
      events.warned({ code, path, message: `${message} ${remedy}` });
    },
    storageUpgrading({ from, to }) {
      const message =
        `The database is brought from version ${from} of its schema to ${to}. With millions of ` +
        'turns this takes minutes; ended before its end it begins anew.';
      events.noticed({ code: 'storage_upgrading', message });
    },
    storageWaits({ ms }) {
      const message =
        'The database was in use by another svc, which does not say whether it has ended. It is ' +
        `taken over in ${Math.ceil(ms / 1_000)} s, unless that one is heard of.`;
      events.noticed({ code: 'storage_waits', message });
    },
    clockWasAhead({ replies, aheadMs }) {
      const clockName = backend === 'file' ? "This machine's clock" : "The database server's clock";
      const many = replies === 1 ? 'reply' : 'replies';
      const message =
        `${clockName} was ahead, and is right again or behind now: the next tries of ${replies} ` +
        `${many} lay up to ${formatTime(aheadMs)} too far ahead. They follow their schedule ` +
        'again. See that the clock is right, and keep it so (NTP).';
      events.warned({ code: 'clock_was_ahead', message });
    },
    unroutable({ channel, rows, untilAt }) {
      const until = new Date(untilAt).toISOString();
      events.warned({
        code: 'unroutable',
        message:
          `${rows} messages and replies of ${channel} wait, since it is not configured or has no ` +
          `route. Bring it back before ${until}, or they become dead letters.`,
      });
    },
    buried: (e) => events.buried(e),
    holdOver({ channel }) {
      const message =
        `Nobody has touched a held conversation of ${channel} for an hour: its brain goes on ` +
        'with what waits.';
      events.noticed({ code: 'hold_over', message, details: { channel } });
    },
    faulted: (error) => events.faulted({ where: 'the storage', error }),
  };
  return {
    news,
    health: () => healthOf(room, backend),
    clockIs: (aheadMs) => skew.is(aheadMs),
    failed(error) {
      if (room.kind !== 'locked') return events.faulted({ where: 'the storage', error });
      const message =
        `Another program${describeHolder(room.holder)} had the database locked to the end. What ` +
        'could not be written is done again by the next start. End that program first.';
      events.warned({ code: 'storage_locked', path: 'storage.path', message });
    },
    warnings() {
      return [warningOf(room, backend), skew.warning].filter((one) => one !== null);
    },
  };
}

/** `40 days`, `2 h`, `30 s`: rounded. */
function formatTime(ms: number): string {
  if (ms >= 2 * dayMs) return `${Math.round(ms / dayMs)} days`;
  if (ms >= 2 * hourMs) return `${Math.round(ms / hourMs)} h`;
  return ms >= 2 * minuteMs ? `${Math.round(ms / minuteMs)} min` : `${Math.ceil(ms / 1_000)} s`;
}

const hasRoomAgain = { code: 'storage_room', message: 'The database has room again.' };
const isFreeAgain = { code: 'storage_free', message: 'The database can be written again.' };
const answersAgain = { code: 'storage_back', message: 'The database server answers again.' };

type Backend = StoragePlace['kind'];
const diskOf: Readonly<Record<Backend, string>> = {
  file: 'disk',
  server: "database server's disk",
};

function healthOf({ kind }: StorageRoom, backend: Backend): Health {
  switch (kind) {
    case 'ok':
      return { status: 'ok' };
    case 'full':
      return { status: 'failing', reason: `the ${diskOf[backend]} is full` };
    case 'locked':
      return { status: 'failing', reason: 'another program has the database locked' };
    case 'low':
      return { status: 'failing', reason: `the ${diskOf[backend]} is nearly full` };
    case 'away':
      return { status: 'failing', reason: 'the database server does not answer' };
    default:
      return kind satisfies never;
  }
}

const withRemedy = (code: keyof typeof storageRemedies) => ({
  code,
  remedy: storageRemedies[code],
});

const mebibyte = 1024 * 1024;

function warningOf(room: StorageRoom, backend: Backend): WarningStatus | null {
  const path = backend === 'file' ? 'storage.path' : 'storage.url_env';
  const disk = backend === 'file' ? 'disk of the database' : diskOf[backend];
  switch (room.kind) {
    case 'ok':
      return null;
    case 'full': {
      const message =
        `The ${disk} is full: nothing is accepted, and what is finished waits to be ` +
        'written down. It is tried again every second.';
      return { ...withRemedy('storage_full'), path, message };
    }
    case 'locked': {
      const message =
        `Another program${describeHolder(room.holder)} has the database locked, by a transaction ` +
        'that it has not ended: nothing is accepted, and what is finished waits to be written ' +
        'down. It is tried again every second.';
      return { ...withRemedy('storage_locked'), path, message };
    }
    case 'away': {
      const message =
        'The database server does not answer: nothing is accepted, and what is finished waits to ' +
        'be written down. It is tried again all the time.';
      return { ...withRemedy('storage_away'), path, message };
    }
    case 'low': {
      const [left, least] = [room.freeBytes, room.freeBytesMin].map((n) =>
        Math.floor(n / mebibyte),
      );
      const message =
        `The ${disk} has ${left} MiB left, and under ${least} MiB nothing is ` +
        'accepted. What was accepted is worked on.';
      return { ...withRemedy('storage_low'), path, message };
    }
    default:
      return room satisfies never;
  }
}

// Compares this machine's clock with the database server's, which svc uses.

/** A larger difference is reported. */
const skewMsMax = 2_000;

class ClockSkew {
  readonly #events: Pick<Events, 'warned' | 'noticed'>;
  /** null: the clocks agree. */
  warning: WarningStatus | null = null;

  constructor(events: Pick<Events, 'warned' | 'noticed'>) {
    this.#events = events;
  }

  /** @param aheadMs how far the server's clock is ahead; negative: behind */
  is(aheadMs: number): void {
    const isApart = Math.abs(aheadMs) > skewMsMax;
    if (isApart && this.warning === null) {
      this.warning = clockSkewWarningOf(aheadMs);
      const { code, path, message, remedy } = this.warning;
      this.#events.warned({ code, path, message: `${message} ${remedy}` });
    }
    // A corrected clock may move slowly, so the warning ends only well under the limit.
    if (this.warning === null || Math.abs(aheadMs) > skewMsMax / 2) return;
    this.warning = null;
    const message = "This machine's clock agrees with the database server's again.";
    this.#events.noticed({ code: 'clock_agrees', message });
  }
}

function clockSkewWarningOf(aheadMs: number): WarningStatus {
  const seconds = Math.round(Math.abs(aheadMs) / 1_000);
  const side = aheadMs > 0 ? 'behind' : 'ahead of';
  return {
    code: 'clock_skewed',
    path: 'storage.url_env',
    message:
      `This machine's clock is ${seconds} s ${side} the database server's. svc goes by the ` +
      "server's, so that all who work on that database tell one time; the log does not.",
    remedy: 'Set the clock that is wrong, and let both be kept right (NTP).',
  };
}
