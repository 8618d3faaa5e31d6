import type { Brain } from '../brains/brain.ts';
import type { Channel } from '../channels/channel.ts';
import type { AccessConfig, SessionConfig } from '../config/config.ts';
import type { Events } from '../domain/event.ts';
import type { IdSource } from '../domain/ids.ts';
import type { ByteSemaphore } from '../lib/fair-queue.ts';
import type { Clock } from '../lib/clock.ts';
import type { Pictures } from './attachments/picture/picture.ts';
import type { Speech } from './attachments/speech/speech.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ApprovalWork } from './approvals/request.ts';

/** A channel and the brain that its route names, as one config revision has them. */
export type ActiveRoute = {
  readonly channel: Channel;
  readonly brain: Brain;
  /** How its conversations are cut into sessions; null: never. */
  readonly session: SessionConfig | null;
  /** Who may talk; null where whoever has the channel's secret may: it has no gate. */
  readonly access: AccessConfig | null;
  /** Writes down what is spoken there; absent: nothing is listened to. */
  readonly speech?: Speech;
  /** Makes pictures anew; absent: none are looked at. */
  readonly pictures?: Pictures;
  /** Messages within so many milliseconds of each other are one turn; absent: each is its own. */
  readonly gatherMs?: number;
  /** All that have a route, by name. */
  readonly brains: ReadonlyMap<string, Brain>;
};

/** What the flow works with for the life of the process. */
export type Deps = Clock & {
  readonly ledger: Ledger;
  readonly events: Events;
  readonly ids: IdSource;
  readonly random: () => number;
  readonly approvals: ApprovalWork;
  /** What is fetched and read of files, for all turns at work. */
  readonly fileBytes: ByteSemaphore;
  /** The same of what is spoken: it takes minutes, and is in the way of no other file. */
  readonly spokenBytes: ByteSemaphore;
};
