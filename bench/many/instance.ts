/**
 * One instance in its own process. It executes the commands of its parent over IPC, and sends one
 * answer to each. Its argument is the database's URL.
 */
import type { InClaim } from '../../src/ledger/ledger.ts';
import { hook } from '../../test/contract/ledger/kit.ts';
import { accept, openStore, Work, type Count } from './work.ts';

/** The name of a conversation is a word and a number below `conversations`. */
export type Word =
  | { readonly kind: 'work' | 'count' | 'end-traffic' | 'close' }
  | {
      readonly kind: 'traffic';
      readonly atOnce: number;
      readonly conversations: number;
      readonly named: string;
    }
  /** Accepts and claims one message in each, but never ends a turn. */
  | { readonly kind: 'hold'; readonly names: readonly string[] };

/** `id` of the instance. */
export type Answer = Count & { readonly id: number };

const { ledger, peers } = await openStore(process.argv[2]!);
ledger.serve([hook]);
const self = String(peers.id);
let work: Work | null = null;
let endThroughput: () => Promise<void> = async () => {};

process.on('message', (word: Word) => {
  void hear(word);
});
tell();

function tell(): void {
  const count = work?.count ?? { delivered: 0, foreign: 0, cpuUs: 0 };
  process.send?.({ ...count, id: peers.id } satisfies Answer);
}

async function hear(word: Word): Promise<void> {
  await obey(word);
  tell();
  if (word.kind === 'close') process.disconnect?.();
}

async function obey(word: Word): Promise<void> {
  switch (word.kind) {
    case 'work':
      work ??= new Work(ledger, self);
      return;
    case 'traffic': {
      const { atOnce, conversations, named } = word;
      work ??= new Work(ledger, self);
      const next = (): string => `${named}${Math.floor(Math.random() * conversations)}`;
      endThroughput = work.acceptAll(atOnce, next);
      return;
    }
    case 'hold':
      return await hold(word.names);
    case 'count':
      return;
    case 'end-traffic':
      return await endThroughput();
    case 'close':
      return await ledger[Symbol.asyncDispose]();
  }
  word satisfies never;
}

async function hold(names: readonly string[]): Promise<void> {
  let held: readonly InClaim[] = [];
  const all = Promise.withResolvers<void>();
  ledger.onReady(() => void claim());
  await Promise.all(names.map((name) => accept(ledger, name, self)));
  await claim();
  return all.promise;

  async function claim(): Promise<void> {
    held = [...held, ...(await ledger.claim('in', hook, names.length))];
    if (held.length >= names.length) all.resolve();
  }
}
