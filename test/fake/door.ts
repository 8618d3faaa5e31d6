/** The completions API without HTTP: the test asks, and sees what its client gets. */
import { randomUUID } from 'node:crypto';
import type { Channel, OpenRequest, Receive } from '../../src/channels/channel.ts';
import type { CompletionEnd, CompletionRequest, GivenLine } from '../../src/domain/completion.ts';
import { completionsChannel, type ConversationId } from '../../src/domain/ids.ts';
import type { Reply } from '../../src/domain/reply.ts';
import { failure } from '../../src/domain/failure.ts';
import type { Media } from '../../src/domain/message.ts';
import { Stopper } from '../../src/lib/stop.ts';

/** One client and what it got. */
export class FakeClient implements OpenRequest {
  readonly request: CompletionRequest;
  readonly gone = new Stopper();
  readonly isStream = true;
  readonly shown: string[] = [];
  ended: CompletionEnd | null = null;
  failed: string | null = null;
  reply: Reply | null = null;

  constructor(request: CompletionRequest) {
    this.request = request;
  }

  show(whole: string): void {
    this.shown.push(whole);
  }

  end(end: CompletionEnd): void {
    this.ended = end;
  }

  fail(reason: 'stopped' | 'deleted'): void {
    this.failed = reason;
  }
}

export type Asked = Partial<CompletionRequest> & { readonly text?: string; readonly user?: string };

/** The requests outlive the channels, as in the program. */
export class FakeDoor {
  readonly waiting = new Map<ConversationId, FakeClient>();
  readonly files = new Map<string, Uint8Array>();
  /** Thrown by each fetch of a picture; null: none is. */
  bug: Error | null = null;
  #receive: Receive | null = null;

  async ask({ text = 'hello', user, ...more }: Asked, media: readonly Media[] = []) {
    const newest: GivenLine = { role: 'user', text, media };
    const client = new FakeClient({
      brain: 'main',
      system: null,
      tools: [],
      mayCall: true,
      outputTokensMax: null,
      lines: [newest],
      newest: 0,
      ...more,
    });
    const conversation = randomUUID() as ConversationId;
    this.waiting.set(conversation, client);
    const [first = null, ...further] = media;
    const { brain } = client.request;
    const received = await this.#receive!([
      {
        channel: completionsChannel,
        conversation,
        sender: { id: user ?? 'completions', name: null },
        text,
        media: first,
        further,
        address: { channel: completionsChannel, target: conversation },
        dedupeKey: null,
        route: { number: 0, brain, matched: [] },
      },
    ]);
    if (received.kind !== 'accepted') throw new Error(received.reason);
    return { client, conversation, id: received.receipts[0]!.id };
  }

  channel(): Channel & Required<Pick<Channel, 'openRequest' | 'fetch'>> {
    return {
      reportsSessions: true,
      open: async () => ({ kind: 'opened', key: completionsChannel }),
      run: (receive, signal) => {
        this.#receive = receive;
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve()));
      },
      openRequest: ({ conversation }) => this.waiting.get(conversation) ?? null,
      fetch: async (file) => {
        if (this.bug !== null) throw this.bug;
        const bytes = this.files.get(file);
        if (bytes === undefined) return { kind: 'failed', failure: failure('malformed_answer') };
        return { kind: 'fetched', bytes };
      },
      deliver: async (reply) => {
        const client = this.waiting.get(reply.conversation);
        if (client === undefined) return { kind: 'dead', failure: failure('gone') };
        client.reply = reply;
        this.waiting.delete(reply.conversation);
        return { kind: 'delivered' };
      },
      health: () => ({ state: 'up', since: 0, reason: null, lastSeenAt: null }),
      [Symbol.asyncDispose]: () => Promise.resolve(),
    };
  }
}
