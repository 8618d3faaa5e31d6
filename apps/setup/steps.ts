/**
 * The state machine of the first run: a state and an event give the next state. Pure; `effect`
 * holds the request to the outside.
 *
 * file → model → answer → channel → (token) → keep → (access) → review → write → start → first
 *
 * Nothing before `write` changes anything outside. "Back" leads to the place before, as it was
 * left. `leave` ends the first run as long as nothing is written.
 */
import { channelTypes, kindOf, type ChannelType } from '../../src/channels/registry.ts';
import { mayGoOn, mayKeep, mayStart, needsKey } from './conditions.ts';
import {
  nothingFound,
  secretsOf,
  writePlanOf,
  hostedModel,
  otherVendor,
  readBaseUrl,
  vendors,
} from './document.ts';
import { afterFinding, afterKeep, hear, namesToLookFor } from './findings.ts';
import { back, go, over, stay } from './moves.ts';
import type { Frontend } from './setup.ts';
import type {
  ChannelChoice,
  Draft,
  Effect,
  ModelChoice,
  SetupEvent,
  SetupState,
  Step,
} from './state.ts';

/** The first state: svc looks for an existing file. */
export function begin(frontend: Frontend = 'terminal'): SetupState {
  return {
    step: { at: 'file' },
    draft: { file: 'new', model: null, channel: null, access: null, pasted: [], keep: null },
    facts: { ...nothingFound, frontend },
    trail: [],
    effect: { kind: 'look_at_file' },
  };
}

/** @returns the same state if the event means nothing in it */
export function next(state: SetupState, event: SetupEvent): SetupState {
  if (event.kind === 'found') return afterFinding(state, event.found);
  const { choice, fields } = event;
  if (choice === 'leave') return over(state, 'left');
  if (choice === 'back') return back(state);
  return handlers[state.step.at](state, choice, fields);
}

type Fields = Readonly<Record<string, string>>;
type ChoiceHandler = (state: SetupState, choice: string, fields: Fields) => SetupState;

const handlers: Readonly<Record<Step['at'], ChoiceHandler>> = {
  file: atFile,
  model: atModel,
  vendor: atVendor,
  key: atKey,
  answer: atAnswer,
  channel: atChannel,
  token: atToken,
  keep: atKeep,
  access: atAccess,
  review: atReview,
  write: (state) => state,
  start: atStart,
  first: atFirst,
  over: atOver,
};

const lookForModels: Effect = { kind: 'look_for_models' };

function atFile(state: SetupState, choice: string): SetupState {
  switch (choice) {
    case 'keep':
      return startKept(state);
    case 'change':
    case 'anew':
      return go(state, {
        step: { at: 'model' },
        draft: { file: choice },
        facts: { models: null },
        effect: lookForModels,
      });
    default:
      return state;
  }
}

function startKept(state: SetupState): SetupState {
  const step = { at: 'start', problem: null } as const;
  return { ...go(state, { step, draft: { file: 'keep' }, effect: { kind: 'start' } }), trail: [] };
}

function atModel(state: SetupState, choice: string): SetupState {
  if (choice === 'again') {
    return stay(state, { step: state.step, facts: { models: null }, effect: { ...lookForModels } });
  }
  if (choice === 'hosted') return go(state, { step: { at: 'vendor' } });
  if (choice === 'practice') return ask(state, { kind: 'practice' });
  if (choice === 'kept') return toChannel(state, { model: { kind: 'kept' } });
  const model = state.facts.models?.near[indexOf('model', choice)];
  return model === undefined ? state : ask(state, model);
}

/** The number in `model:3`; NaN: the choice is of another kind. */
function indexOf(what: string, choice: string): number {
  return choice.startsWith(`${what}:`) ? Number(choice.slice(what.length + 1)) : Number.NaN;
}

function ask(state: SetupState, model: ModelChoice, draft: Partial<Draft> = {}): SetupState {
  const step = { at: 'answer', outcome: null } as const;
  const effect: Effect = { kind: 'ask_model', model };
  return go(state, { step, draft: { pasted: [], ...draft, model }, effect });
}

function toChannel(state: SetupState, draft: Partial<Draft> = {}): SetupState {
  return go(state, { step: { at: 'channel' }, draft });
}

function atVendor(state: SetupState, choice: string): SetupState {
  const vendor = choice === 'other' ? otherVendor : vendors[indexOf('vendor', choice)];
  return vendor === undefined ? state : go(state, { step: { at: 'key', vendor, said: null } });
}

function atKey(state: SetupState, choice: string, fields: Fields): SetupState {
  const { step } = state;
  if (step.at !== 'key' || (choice !== 'ask' && choice !== 'later')) return state;
  const { vendor } = step;
  const baseUrl = readBaseUrl(vendor.baseUrl || (fields['base_url'] ?? ''));
  if (baseUrl === null) {
    const said = 'The address begins with http:// or https://, and has no query.';
    return stay(state, { step: { ...step, said } });
  }
  const modelId = (fields['model_id'] ?? '').trim();
  const isPasted = (fields[vendor.keyEnv] ?? '') !== '';
  const keyEnv = needsKey(state, vendor, baseUrl, isPasted) ? vendor.keyEnv : null;
  const model = hostedModel(baseUrl, modelId, keyEnv);
  // Before the channel step, only the model's key can have been pasted.
  const pasted = isPasted ? [vendor.keyEnv] : [];
  if (choice === 'later') return toChannel(state, { model, pasted });
  return ask(state, model, { pasted });
}

/** Takes the model that was asked, whatever it answered. */
function atAnswer(state: SetupState, choice: string): SetupState {
  if (choice === 'next' || choice === 'skip') return toChannel(state);
  if (choice !== 'another') return state;
  const move = { step: { at: 'model' }, draft: { model: null } } as const;
  // The search may not have ended when the person chose the model.
  if (state.facts.models !== null) return go(state, move);
  return go(state, { ...move, effect: lookForModels });
}

function atChannel(state: SetupState, choice: string): SetupState {
  if (choice === 'kept') {
    const { model } = state.draft;
    if (model?.kind === 'kept') return startKept(state);
    return toKeep(state, { kind: 'kept' });
  }
  const type = channelTypes.find((one) => one === choice);
  if (type === undefined) return state;
  const { isMessenger } = kindOf(type);
  if (!isMessenger) return toKeep(state, { kind: 'channel', type, bot: null });
  const step = { at: 'token', type, found: null } as const;
  const channel = { kind: 'channel', type, bot: null } as const;
  return go(state, { step, draft: { channel }, effect: { kind: 'identify', type } });
}

function toKeep(state: SetupState, channel: ChannelChoice): SetupState {
  const chosen = { ...state.draft, channel, access: null, keep: null };
  const needed = new Set(secretsOf(chosen, { place: null }).map(({ name }) => name));
  const draft = { ...chosen, pasted: chosen.pasted.filter((name) => needed.has(name)) };
  const names = namesToLookFor({ ...state, draft });
  const practises = draft.model?.kind === 'practice';
  const effect: Effect = { kind: 'look_at_place', names, practises };
  return go(state, { step: { at: 'keep' }, draft, facts: { place: null }, effect });
}

function atToken(state: SetupState, choice: string, fields: Fields): SetupState {
  const { step, draft } = state;
  if (step.at !== 'token') return state;
  const { type, found } = step;
  const { variable } = kindOf(type).token;
  switch (choice) {
    case 'paste': {
      if ((fields[variable] ?? '') === '') return state;
      const others = draft.pasted.filter((name) => name !== variable);
      return identify(state, type, [...others, variable]);
    }
    case 'again':
      return identify(state, type, draft.pasted);
    case 'next':
      return toKeep(state, { kind: 'channel', type, bot: botOf(found) });
    case 'later': {
      const others = draft.pasted.filter((name) => name !== variable);
      const later = { ...state, draft: { ...draft, pasted: others } };
      return toKeep(later, { kind: 'channel', type, bot: null });
    }
    default:
      return state;
  }
}

function identify(state: SetupState, type: ChannelType, pasted: readonly string[]): SetupState {
  const step = { at: 'token', type, found: null } as const;
  return stay(state, { step, draft: { pasted }, effect: { kind: 'identify', type } });
}

function botOf(found: Extract<Step, { readonly at: 'token' }>['found']): string | null {
  return found?.kind === 'known' ? found.name : null;
}

function atKeep(state: SetupState, choice: string, fields: Fields): SetupState {
  if (choice === 'again') {
    const { channel } = state.draft;
    return channel === null ? state : { ...toKeep(state, channel), trail: state.trail };
  }
  if (choice !== 'keychain' && choice !== 'by_hand') return state;
  if (choice === 'keychain' && !mayKeep(state)) return state;
  const made = secretsOf(state.draft, state.facts).filter(({ is }) => is === 'made');
  const given = made.map(({ name }) => name).filter((name) => (fields[name] ?? '') !== '');
  const pasted = [...state.draft.pasted, ...given];
  const withGiven = { ...state, draft: { ...state.draft, pasted } };
  const left = afterKeep(withGiven, choice);
  // After "back", svc asks again for the values that were given here.
  const before = { step: state.step, draft: state.draft, facts: state.facts };
  return { ...left, trail: [...state.trail, before] };
}

function atAccess(state: SetupState, choice: string, fields: Fields): SetupState {
  const review = { at: 'review', said: null } as const;
  const groups = 'mention' as const;
  switch (choice) {
    case 'pairing':
      return go(state, { step: review, draft: { access: { allow: null, groups, pairing: true } } });
    case 'anyone':
      return go(state, { step: review, draft: { access: null } });
    case 'listed': {
      const allow = (fields['ids'] ?? '').split(/[\s,]+/).filter((id) => id !== '');
      const said = 'An id is a number, such as 123456789; write them with spaces between.';
      if (allow.length === 0 || !allow.every((id) => /^\d{1,20}$/.test(id))) {
        return stay(state, { step: { at: 'access', said } });
      }
      return go(state, { step: review, draft: { access: { allow, groups, pairing: false } } });
    }
    default:
      return state;
  }
}

function atReview(state: SetupState, choice: string): SetupState {
  if (choice !== 'start' && choice !== 'write') return state;
  const starts = choice === 'start';
  if (starts && !mayStart(state)) return state;
  const plan = writePlanOf(state.draft, state.facts);
  return go(state, { step: { at: 'write', starts }, effect: { kind: 'write', plan } });
}

function atStart(state: SetupState, choice: string): SetupState {
  if (choice === 'again') return startAgain(state);
  if (choice !== 'done') return state;
  if (state.facts.frontend === 'window') return over(state, 'goes_on');
  return over(state, state.facts.written === null ? 'left' : 'written');
}

function startAgain(state: SetupState): SetupState {
  const step = { at: 'start', problem: null } as const;
  return stay(state, { step, effect: { kind: 'start' } });
}

function atFirst(state: SetupState, choice: string, fields: Fields): SetupState {
  const { step } = state;
  if (step.at !== 'first') return state;
  if (choice === 'done') return over(state, mayGoOn(state) ? 'goes_on' : 'serving');
  if (choice === 'let_in' && step.heard.kind === 'asking') {
    const code = fields['code'] ?? '';
    const quiet = { at: 'first', heard: { kind: 'nothing' } } as const;
    return stay(state, { step: quiet, effect: { kind: 'let_in', code, name: step.heard.name } });
  }
  if (choice === 'again' && step.heard.kind === 'problem' && step.heard.again === 'start') {
    return startAgain(state);
  }
  if (choice === 'again' || choice === 'say') {
    const quiet = { at: 'first', heard: { kind: 'nothing' } } as const;
    const says = choice === 'say' ? (fields['says'] ?? null) : null;
    return stay(state, { step: quiet, effect: hear(state, says) });
  }
  return state;
}

/** Lets the person end the service that runs here, so that the application starts it instead. */
function atOver(state: SetupState, choice: string): SetupState {
  const { step } = state;
  const isHeld = step.at === 'over' && step.end.kind === 'serving';
  return isHeld && choice === 'go_on' ? over(state, 'goes_on') : state;
}
