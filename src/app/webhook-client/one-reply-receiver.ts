/**
 * Acts as the receiver for one reply. It accepts the reply to its own message and refuses every
 * other, so svc keeps those for the real receiver.
 */
import type { WebhookConfig } from '../../channels/registry.ts';
import { holderOfPort, describeHolder } from '../../lib/holders.ts';
import {
  openReplyReceiver,
  type ReceivedReply,
  type ReplyReceiver,
  type ReplyChecks,
} from './reply-receiver.ts';
import { localReplyAddress } from './webhook-client.ts';

export class StandIn implements AsyncDisposable {
  /** The reply to the expected message. */
  readonly reply: Promise<ReceivedReply>;
  /**
   * Sets the id of the accepted message, or null for none. A reply may come before the webhook's
   * 200.
   */
  readonly expect: (id: string | null) => void;
  readonly #receiver: ReplyReceiver;

  private constructor(
    receiver: ReplyReceiver,
    reply: Promise<ReceivedReply>,
    expect: (id: string | null) => void,
  ) {
    this.#receiver = receiver;
    this.reply = reply;
    this.expect = expect;
  }

  /** @returns the receiver, or why it cannot listen, as the end of a sentence */
  static async open(webhook: WebhookConfig, checks: ReplyChecks): Promise<StandIn | string> {
    const { outboundUrl, mapping } = webhook;
    const address = localReplyAddress(webhook);
    if (address === null) return `it goes to ${outboundUrl}`;
    if (Object.values(mapping).includes('in_reply_to')) {
      return 'the mapping takes the name "in_reply_to", by which an answer is known';
    }
    const came = Promise.withResolvers<ReceivedReply>();
    const expected = Promise.withResolvers<string | null>();
    const take = async (reply: ReceivedReply): Promise<boolean> => {
      const id = await expected.promise;
      if (reply.inReplyTo === null || reply.inReplyTo !== id) return false;
      came.resolve(reply);
      return true;
    };
    const receiver = await openReplyReceiver({ ...address, mapping, checks, take });
    if ('kind' in receiver) return describeTaken(outboundUrl, address.port, receiver.code);
    return new StandIn(receiver, came.promise, expected.resolve);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.expect(null);
    await this.#receiver[Symbol.asyncDispose]();
  }
}

function describeTaken(outboundUrl: string, port: number, code: string): string {
  if (code !== 'EADDRINUSE') return `this command may not listen at ${outboundUrl} (${code})`;
  const holder = describeHolder(holderOfPort(port));
  return `it goes to ${outboundUrl}, where another program listens${holder}`;
}
