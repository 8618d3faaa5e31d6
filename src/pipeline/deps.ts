/**
 * The two things that every step of the pipeline gets: the dependencies that live as long as the
 * process, and the route of the message.
 */
import type { Brain } from '../brains/brain.ts';
import type { Channel } from '../channels/channel.ts';
import type { AccessConfig, RouteConfig, SessionConfig } from '../config/config.ts';
import type { Events } from '../domain/event.ts';
import type { ChannelKey, IdSource } from '../domain/ids.ts';
import type { RouteTaken } from '../domain/routing.ts';
import type { ByteSemaphore } from '../lib/fair-queue.ts';
import type { Clock } from '../lib/clock.ts';
import type { Pictures } from './attachments/picture/picture.ts';
import type { Speech } from './attachments/speech/speech.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { ApprovalWork } from './approvals/request.ts';

/** A channel with its routes, in one revision of the configuration. */
export type ActiveChannel = {
  /** The name by which routes and grants know it. */
  readonly name: string;
  readonly channel: Channel;
  /** In the order of the configuration; the last one takes every message. */
  readonly routes: readonly BrainRoute[];
  /** How its conversations are divided into sessions; null: never. */
  readonly session: SessionConfig | null;
  /** Who may talk; null: the channel has no gate, and everyone with its secret may talk. */
  readonly access: AccessConfig | null;
  /** Transcribes voice messages; absent: nobody listens to them. */
  readonly speech?: Speech;
  /** Re-encodes pictures; absent: nobody looks at them. */
  readonly pictures?: Pictures;
  /**
   * Messages within so many milliseconds of each other become one turn; absent: each is its own
   * turn.
   */
  readonly gatherMs?: number;
  /** All channels of the configuration by their keys; absent: this one alone. */
  readonly all?: ReadonlyMap<ChannelKey, unknown>;
  /** All brains that have a route or stand behind the completions API, by name. */
  readonly brains: ReadonlyMap<string, Brain>;
};

/** A route with its brain. */
export type BrainRoute = Omit<RouteConfig, 'brain' | 'channel'> & { readonly brain: Brain };

/** The channel of a message, and the brain of its route. */
export type ActiveRoute = ActiveChannel & { readonly brain: Brain; readonly taken: RouteTaken };

/** The dependencies of the pipeline, for the life of the process. */
export type Deps = Clock & {
  readonly ledger: Ledger;
  readonly events: Events;
  readonly ids: IdSource;
  readonly random: () => number;
  readonly approvals: ApprovalWork;
  /** Memory for fetching and reading files, shared by all running turns. */
  readonly fileBytes: ByteSemaphore;
  /** The same for voice messages, which take minutes and must not delay other files. */
  readonly spokenBytes: ByteSemaphore;
};
