/** Handles the results of effects: each gives the next state. Pure. */
import { kindOf, type ChannelType } from '../../src/channels/registry.ts';
import { adminTokenName, secretsOf } from './document.ts';
import { go, over, stay } from './moves.ts';
import type { Effect, EffectResult, SetupState, TokenFound } from './state.ts';

/** @returns the same state if nobody waits for this result any more */
export function afterFinding(state: SetupState, found: EffectResult): SetupState {
  if (state.effect?.kind !== found.of) return state;
  const { step } = state;
  switch (found.of) {
    case 'look_at_file':
      return fileFound(state, found.file);
    case 'look_for_models':
      return stay(state, { step, facts: { models: found.models } });
    case 'ask_model':
      return stay(state, { step: { at: 'answer', outcome: found.outcome } });
    case 'identify':
      return step.at === 'token' ? tokenFound(state, step.type, found.token) : state;
    case 'look_at_place':
      return placeFound(stay(state, { step, facts: { place: found.place } }));
    case 'write':
      return fileWritten(state, found.written);
    case 'start': {
      const { problem, liveView } = found;
      if (problem !== null) return stay(state, { step: { at: 'start', problem } });
      return stay(state, {
        step: { at: 'first', heard: { kind: 'nothing' } },
        facts: { liveView },
        effect: hear(state),
      });
    }
    case 'hear':
    case 'let_in': {
      const { heard } = found;
      const effect = heard.kind === 'let_in' ? { effect: hear(state) } : {};
      return stay(state, { step: { at: 'first', heard }, ...effect });
    }
    default:
      return found satisfies never;
  }
}

/**
 * The effect that waits for the first message. For a kept file, it waits on the file's first
 * channel.
 * @param says the text that svc sends for the person where it can; null: a greeting
 */
export function hear({ draft, facts }: SetupState, says: string | null = null): Effect {
  const kept = facts.file?.kind === 'there' ? facts.file.channels[0]?.type : undefined;
  const type = draft.channel?.kind === 'channel' ? draft.channel.type : kept;
  return { kind: 'hear', type: type ?? null, says };
}

function fileFound(state: SetupState, file: Extract<EffectResult, { of: 'look_at_file' }>['file']) {
  const { step } = state;
  if (file.kind === 'there') return stay(state, { step, facts: { file } });
  const effect: Effect = { kind: 'look_for_models' };
  return go(state, { step: { at: 'model' }, draft: { file: 'new' }, facts: { file }, effect });
}

function tokenFound(state: SetupState, type: ChannelType, found: TokenFound): SetupState {
  const bot = found.kind === 'known' ? found.name : null;
  const { variable } = kindOf(type).token;
  // A refused token is not kept, and a token found elsewhere was not pasted.
  const isPasted = 'source' in found && found.source === 'pasted' && found.kind !== 'refused';
  const others = state.draft.pasted.filter((name) => name !== variable);
  const pasted = isPasted ? [...others, variable] : others;
  const channel = { kind: 'channel', type, bot } as const;
  return stay(state, { step: { at: 'token', type, found }, draft: { channel, pasted } });
}

/** Skips the question where to keep secrets if there is nothing to keep. */
function placeFound(state: SetupState): SetupState {
  const open = secretsOf(state.draft, state.facts).some(
    ({ is }) => is === 'pasted' || is === 'made',
  );
  // "Back" must not lead to a question that was not asked.
  return open ? state : { ...afterKeep(state, null), trail: state.trail };
}

/** Strangers can write to a messenger, so the next question is who may talk. */
export function afterKeep(state: SetupState, keep: 'keychain' | 'by_hand' | null): SetupState {
  const { channel } = state.draft;
  const asks = channel?.kind === 'channel' && kindOf(channel.type).isMessenger;
  if (asks) return go(state, { step: { at: 'access', said: null }, draft: { keep } });
  return go(state, { step: { at: 'review', said: null }, draft: { keep } });
}

function fileWritten(
  state: SetupState,
  written: Extract<EffectResult, { of: 'write' }>['written'],
): SetupState {
  if ('problem' in written) {
    return go(state, { step: { at: 'review', said: written.problem } });
  }
  const facts = { written };
  const starts = state.step.at === 'write' && state.step.starts;
  const isWindow = state.facts.frontend === 'window';
  const after = stay(state, { step: state.step, facts });
  if (!starts) return over(after, isWindow ? 'goes_on' : 'written');
  const step = { at: 'start', problem: null } as const;
  return { ...stay(state, { step, facts, effect: { kind: 'start' } }), trail: [] };
}

/** Names of the secrets to look for before asking where to keep secrets. */
export function namesToLookFor(state: SetupState): readonly string[] {
  return [...secretsOf(state.draft, { place: null }).map(({ name }) => name), adminTokenName];
}
