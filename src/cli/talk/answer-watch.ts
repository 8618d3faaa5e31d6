/** What the admin server of the running service tells of one message, asked until it is enough. */
import type { Story } from '../../domain/story.ts';
import { pause } from '../../lib/backoff.ts';
import { Unanswered } from '../frame/admin-client.ts';
import type { RemoteLedger } from '../frame/remote-ledger.ts';

export type Watched =
  | { readonly kind: 'reply'; readonly texts: readonly string[] }
  /** Nothing more comes; a sentence why. */
  | { readonly kind: 'none'; readonly why: string };

const pauseMs = { first: 100, most: 1_000, growth: 1.5 } as const;

/**
 * Watches until there is a reply, or will be none; never ends where it cannot be told.
 * @param mayRead whether the texts may be asked for: with the bearer, and where storage keeps them
 */
export async function watchAnswer(
  service: RemoteLedger,
  id: string,
  mayRead: boolean,
  stop: AbortSignal,
): Promise<Watched> {
  let pausedMs: number = pauseMs.first;
  while (!stop.aborted) {
    const story = await lookUp(service, id);
    if (story === 'unanswered') break;
    const why = story === null ? null : whyNone(story);
    if (why !== null) return { kind: 'none', why };
    if (mayRead && story !== null && story.replies.length > 0) {
      const told = await service.storyText(id).catch(orThrow);
      if (told !== null) return { kind: 'reply', texts: told.replies.map(({ text }) => text) };
    }
    await pause(pausedMs, stop);
    pausedMs = Math.min(pausedMs * pauseMs.growth, pauseMs.most);
  }
  return new Promise(() => {});
}

/** Why svc itself answered, and no model, as a sentence; null: a model did, or it is not known. */
export async function describeWhoAnswered(
  service: RemoteLedger,
  id: string,
): Promise<string | null> {
  const story = await lookUp(service, id);
  const outcome = story === 'unanswered' ? null : (story?.trace?.outcome ?? null);
  if (outcome === null || outcome === 'reply' || outcome === 'command') return null;
  return `No model answered (${outcome}): this is a sentence of svc. See svc trace ${id}`;
}

/** How far a message is, for who does not wait any longer. */
export async function describeHowFar(service: RemoteLedger, id: string): Promise<string> {
  const story = await lookUp(service, id);
  if (story === 'unanswered' || story === null) return 'What became of it is not known';
  const waiting = story.replies.find(({ state }) => state === 'waiting');
  if (waiting !== undefined && waiting.attempts === 0) {
    return (
      'It is answered, and the reply waits behind earlier ones of its conversation, which nobody ' +
      'has taken yet (svc receive takes them)'
    );
  }
  if (waiting !== undefined) {
    return `It is answered, and the reply is not delivered: ${waiting.failure?.detail ?? 'no try'}`;
  }
  return story.state === 'waiting' ? 'svc still works on it' : 'It is answered and delivered';
}

function whyNone(story: Story): string | null {
  if (story.state === 'dead') {
    return `The message became a dead letter: ${story.failure?.detail ?? 'no reason is known'}.`;
  }
  const dead = story.replies.find(({ state }) => state === 'dead');
  if (dead === undefined) return null;
  return `The reply became a dead letter: ${dead.failure?.detail ?? 'no reason is known'}.`;
}

function lookUp(service: RemoteLedger, id: string): Promise<Story | null | 'unanswered'> {
  return service.story(id).catch((error: unknown) => {
    orThrow(error);
    return 'unanswered' as const;
  });
}

/** What the service does not tell is no fault of this program's. */
function orThrow(error: unknown): null {
  if (error instanceof Unanswered) return null;
  throw error;
}
