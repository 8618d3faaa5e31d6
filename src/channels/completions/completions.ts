/**
 * The channel of chat completions: programs that speak the OpenAI API ask brains, and wait for the
 * answer on their own connection.
 */
import type { CompletionsConfig } from '../../config/config.ts';
import type { Events } from '../../domain/event.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Deadlines } from '../../lib/deadlines.ts';
import type { Listeners } from '../../lib/listener.ts';
import type { Channel } from '../channel.ts';
import type { OpenRequests } from './open-requests.ts';

export type CompletionsDeps = Clock & {
  readonly config: CompletionsConfig;
  /** The bearer that clients send as their API key. */
  readonly token: string;
  /** The brains that clients can use, by name, in the order in which the API lists them. */
  readonly offered: ReadonlyMap<string, { readonly isAgent: boolean }>;
  /** Host names that clients may use beside those of loopback. */
  readonly allowedHosts: () => readonly string[];
  readonly listeners: Listeners;
  readonly deadlines: Deadlines;
  readonly events: Events;
  /** Shared by all running configurations of a process: make it once, with `new OpenRequests()`. */
  readonly openRequests: OpenRequests;
};

/** `boundPort()` is the actual port, also if the configuration names port 0; 0 before `open`. */
export type CompletionsChannel = Channel &
  Required<Pick<Channel, 'openRequest' | 'fetch'>> & { boundPort(): number };

/**
 * Makes the channel; it binds nothing before `open`. It hands in each message with `route`
 * `{ number: 0, brain, matched: [] }`, and without a label.
 */
export function createCompletionsChannel(deps: CompletionsDeps): CompletionsChannel {
  throw new Error(`not made yet: ${deps.config.bind.text}`);
}
