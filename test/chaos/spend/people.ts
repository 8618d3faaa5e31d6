/**
 * People who write until they have a reply, and an operator who tries drafts meanwhile. The trace
 * of each message is read as soon as it has its reply.
 */
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import type { TryResult } from '../../../src/admin/config-trials.ts';
import type { Story } from '../../../src/domain/story.ts';
import type { Trace } from '../../../src/domain/trace.ts';
import { askAdmin } from '../../config/program.ts';
import type { Receiver } from '../../fake/receiver.ts';
import { post } from '../../support/program.ts';
import { brainName } from './brains.ts';
import type { Deployment } from './deployment.ts';
import { within } from '../../support/waiting.ts';

/** A message, or a trial, with its result. */
export type Turn = {
  readonly marker: string;
  reply: string | null;
  /** Of its last attempt; null: it is not over, or ended with its process. */
  trace: Trace | null;
};

const trialsAtOnce = 2;
/** One sender writes this share of all messages, more than a sender's budget. */
const greedyShare = 0.4;
const senders = 6;
const betweenTriesMs = 20;
/** The longest pause between two trials. */
const betweenTrialsMs = 150;

export class People implements Disposable {
  /** All turns that began. */
  readonly turns: Turn[] = [];
  answered = 0;
  #left = false;
  readonly #deployment: Deployment;
  readonly #random: () => number;
  readonly #replies = new Map<string, string>();
  readonly #waiting = new Map<string, (text: string) => void>();

  constructor(deployment: Deployment, receiver: Receiver, random: () => number) {
    this.#deployment = deployment;
    this.#random = random;
    void this.#listen(receiver);
  }

  /** Nobody writes any more, even without a 200. */
  [Symbol.dispose](): void {
    this.#left = true;
  }

  /** The turns under way. */
  get pending(): readonly Turn[] {
    return this.turns.filter(({ trace }) => trace === null);
  }

  /** Resolves when this many messages have replies, and the trials beside them are over. */
  async write(messages: number, atOnce: number): Promise<void> {
    let left = messages;
    const over = new AbortController();
    const talk = async (worker: number): Promise<void> => {
      for (let said = 0; left > 0; said++) {
        left--;
        await this.#say(`${worker}-${Math.floor(said / 4)}`);
      }
    };
    const tryDrafts = async (): Promise<void> => {
      while (!over.signal.aborted && !this.#left) {
        await this.#try();
        await pause(this.#random() * betweenTrialsMs);
      }
    };
    const trials = Array.from({ length: trialsAtOnce }, tryDrafts);
    try {
      await Promise.all(Array.from({ length: atOnce }, (_, worker) => talk(worker)));
    } finally {
      over.abort();
    }
    await Promise.all(trials);
  }

  async #say(conversation: string): Promise<void> {
    const isGreedy = this.#random() < greedyShare;
    const person = isGreedy ? 0 : 1 + Math.floor(this.#random() * (senders - 1));
    const turn = this.#begin('turn', person);
    const sender = senderOf(turn.marker)!;
    const text = `${'word '.repeat(Math.floor(this.#random() * 20))}${turn.marker}`;
    const place = { sender_id: sender, conversation_id: `${sender} ${conversation}` };
    const id = await this.#accepted({ ...place, text }, turn.marker);
    turn.reply = await this.#replyTo(id);
    turn.trace = await this.#traceOf(id);
    this.answered++;
  }

  /** A trial is not repeated when its process ends, or has no free place. */
  async #try(): Promise<void> {
    const turn = this.#begin('trial', 0);
    const body = JSON.stringify({
      config: this.#deployment.text,
      brain: brainName,
      text: turn.marker,
    });
    const { adminPort } = this.#some();
    const asked = { method: 'POST', body };
    const answer = await askAdmin(adminPort, 'config/try', asked).catch(() => null);
    if (answer === null || answer.status === 503 || answer.status === 429) return;
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    const { trace, decision } = answer.body as unknown as TryResult;
    turn.trace = trace;
    turn.reply = decision.text;
  }

  #begin(kind: 'turn' | 'trial', person: number): Turn {
    const marker = `${kind}-${person}-${this.turns.length}`;
    const turn: Turn = { marker, reply: null, trace: null };
    this.turns.push(turn);
    return turn;
  }

  #some() {
    const { instances } = this.#deployment;
    return instances[Math.floor(this.#random() * instances.length)]!;
  }

  async #accepted(message: object, key: string): Promise<string> {
    while (!this.#left) {
      const url = `http://127.0.0.1:${this.#some().port}/webhook`;
      const answer = await post(url, message, { 'webhook-id': key }).catch(() => null);
      if (answer?.status === 200) return String(answer.body['message_id']);
      await pause(betweenTriesMs);
    }
    throw new Error('they have left');
  }

  async #replyTo(id: string): Promise<string> {
    const there = this.#replies.get(id);
    if (there !== undefined) return there;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.#waiting.set(id, resolve);
    return within(`a reply to ${id}`, promise);
  }

  async #traceOf(id: string): Promise<Trace> {
    while (!this.#left) {
      const { adminPort } = this.#some();
      const answer = await askAdmin(adminPort, `messages/${id}`).catch(() => null);
      const trace = answer?.status === 200 ? (answer.body as unknown as Story).trace : null;
      if (trace !== null) return trace;
      await pause(betweenTriesMs);
    }
    throw new Error('they have left');
  }

  async #listen(receiver: Receiver): Promise<void> {
    for (let seen = 0; ; seen++) {
      const { body } = (await receiver.waitFor(seen + 1))[seen]!;
      const [id, text] = [String(body['in_reply_to']), String(body['text'])];
      this.#replies.set(id, text);
      this.#waiting.get(id)?.(text);
    }
  }
}

/** Null: it is a trial. */
export function senderOf(marker: string): string | null {
  const [kind, person] = marker.split('-');
  return kind === 'trial' ? null : `person-${person}`;
}
