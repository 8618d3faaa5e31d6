/** What an operator's word and time make of the pairings that are kept. */
import type { Pairing } from '../../domain/gate.ts';
import type {
  Admitted,
  Change,
  KeptPairings,
  PairingState,
  PendingCode,
} from './stored-pairings.ts';

export function admitting(kept: KeptPairings, one: Admitted): Change {
  const { admitted, asking, unwelcomed = [] } = kept.state;
  const state = {
    admitted: [...admitted, one],
    asking: silenced(asking, one.sender),
    unwelcomed: [...unwelcomed, one.sender],
  };
  return kept.become(state, (later) => {
    const others = later.admitted.filter((other) => other !== one);
    return { ...welcomed(later, one.sender), admitted: others };
  });
}

export function welcoming(kept: KeptPairings, sender: string): Change {
  return kept.become(welcomed(kept.state, sender), (later) => {
    return { ...later, unwelcomed: [...(later.unwelcomed ?? []), sender] };
  });
}

/** Nobody is left to be told: the field goes. */
function welcomed({ unwelcomed = [], ...state }: PairingState, sender: string): PairingState {
  const left = unwelcomed.filter((one) => one !== sender);
  return left.length === 0 ? state : { ...state, unwelcomed: left };
}

export function removing(kept: KeptPairings, sender: string): Change {
  const { admitted, asking } = kept.state;
  const removed = admitted.filter((one) => one.sender === sender);
  const left = admitted.filter((one) => one.sender !== sender);
  const state = { admitted: left, asking: silenced(asking, sender) };
  return kept.become({ ...welcomed(kept.state, sender), ...state }, (later) => {
    return { ...later, admitted: [...removed, ...later.admitted] };
  });
}

export function rowsOf(
  channel: string,
  { admitted, asking }: PairingState,
  now: number,
): Pairing[] {
  const waiting = asking.filter((one) => counts(one, now));
  return [
    ...admitted.map((one): Pairing => ({ channel, ...one, state: 'admitted' })),
    ...waiting.map(({ sender, name, until }): Pairing => {
      return { channel, sender, name, state: 'asking', at: until };
    }),
  ];
}

export const codeMs = 60 * 60_000;
/** Clocks that follow one another differ by less than this. */
const skewMsMax = 60_000;

export function counts(one: PendingCode, now: number): boolean {
  return one.code !== null && isRecent(one, now);
}

/** Within the hour. One of a clock that was ahead is none: its sender would get no other. */
export function isRecent({ until }: PendingCode, now: number): boolean {
  return until > now && until <= now + codeMs + skewMsMax;
}

function silenced(asking: readonly PendingCode[], sender: string): readonly PendingCode[] {
  return asking.map((one) => (one.sender === sender ? silent(one) : one));
}

export function silent(one: PendingCode): PendingCode {
  return { ...one, name: null, code: null };
}
