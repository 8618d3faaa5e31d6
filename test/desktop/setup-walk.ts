/** All reachable states of the first run, by a search over all choices and results. */
import { pageOf } from '../../apps/setup/pages.ts';
import { usualPlace, vendors } from '../../apps/setup/document.ts';
import type { Choice, Frontend, Page } from '../../apps/setup/setup.ts';
import type {
  Effect,
  EffectResult,
  FileFound,
  SetupEvent,
  SetupState,
} from '../../apps/setup/state.ts';
import { begin, next } from '../../apps/setup/steps.ts';

const local = { kind: 'model', provider: 'local_runtime', locality: 'local' } as const;
const nearModel = { ...local, modelId: 'llama3.2', baseUrl: null, apiKeyEnv: null };
const document = {
  channels: [
    { type: 'webhook', token_env: 'A', webhook: { outbound_url: 'http://127.0.0.1:9' } },
    { type: 'telegram', name: 'shop', mode: 'polling', token_env: 'B', access: { allow: ['1'] } },
  ],
  brains: [
    {
      name: 'own',
      sensitivity: 'private',
      policy: { kind: 'priority' },
      models: [{ provider: 'ollama', model_id: 'm', locality: 'local' }],
    },
  ],
  routes: ['webhook', 'shop'].map((channel) => ({ channel, brain: 'own' })),
};
const there: FileFound = {
  kind: 'there',
  path: 'svc.json',
  problem: null,
  document,
  models: ['m'],
  channels: [
    { name: 'webhook', type: 'webhook' },
    { name: 'shop', type: 'messenger_a' },
  ],
};
const written = { path: 'svc.json', backup: null, command: 'svc serve', unset: [] };

/** The possible results of each probe, question or action. */
export const outcomes: {
  [Kind in Effect['kind']]: readonly Extract<EffectResult, { of: Kind }>[];
} = {
  look_at_file: [
    { of: 'look_at_file', file: { kind: 'absent', path: 'svc.json' } },
    { of: 'look_at_file', file: there },
    { of: 'look_at_file', file: { ...there, problem: 'No.', document: null, models: [] } },
  ],
  look_for_models: [
    { of: 'look_for_models', models: { near: [], empty: [], keyed: [] } },
    { of: 'look_for_models', models: { near: [], empty: ['http://a'], keyed: [vendors[0]!] } },
    { of: 'look_for_models', models: { near: [nearModel], empty: [], keyed: [] } },
  ],
  ask_model: [
    { of: 'ask_model', outcome: { kind: 'answer', text: 'Hello.', ms: 3 } },
    { of: 'ask_model', outcome: { kind: 'failed', message: 'it was empty', remedy: null } },
  ],
  identify: [
    { of: 'identify', token: { kind: 'none' } },
    { of: 'identify', token: { kind: 'known', source: 'pasted', id: '1', name: '@bot' } },
    { of: 'identify', token: { kind: 'known', source: 'environment', id: '1', name: '@bot' } },
    { of: 'identify', token: { kind: 'refused', source: 'pasted', message: 'no' } },
    { of: 'identify', token: { kind: 'refused', source: 'environment', message: 'no' } },
    { of: 'identify', token: { kind: 'unreached', source: 'pasted', message: 'away' } },
  ],
  look_at_place: [
    { of: 'look_at_place', place: { ...usualPlace, keychain: 'ready' } },
    { of: 'look_at_place', place: { ...usualPlace, keychain: 'locked', told: 'It is locked.' } },
    { of: 'look_at_place', place: { ...usualPlace, set: ['WEBHOOK_SECRET', 'TELEGRAM_TOKEN'] } },
  ],
  write: [
    { of: 'write', written },
    { of: 'write', written: { problem: 'The disk is full.' } },
  ],
  start: [
    { of: 'start', problem: null, liveView: 'http://a/ui' },
    { of: 'start', problem: 'The address is taken.', liveView: null },
  ],
  hear: [
    { of: 'hear', heard: { kind: 'asking', name: 'Ada', said: null } },
    { of: 'hear', heard: { kind: 'reply', said: 'Hello!', text: 'Hello.' } },
    { of: 'hear', heard: { kind: 'problem', message: 'No.', again: 'hear' } },
    { of: 'hear', heard: { kind: 'problem', message: 'It failed.', again: 'start' } },
  ],
  let_in: [
    { of: 'let_in', heard: { kind: 'let_in', name: 'Ada' } },
    { of: 'let_in', heard: { kind: 'asking', name: 'Ada', said: 'No such code.' } },
  ],
};

/** Texts that a person may type; a secret is `pasted`, as the session reports it. */
const typed: Readonly<Record<string, readonly string[]>> = {
  base_url: ['http://127.0.0.1:8000/v1', 'ftp://a'],
  model_id: ['some-model'],
  ids: ['1 2', 'ada'],
  code: ['K7WX3MQA'],
  says: ['And now?'],
};

function fillings(page: Page, { takes }: Choice): Record<string, string>[] {
  let all: Record<string, string>[] = [{}];
  for (const field of page.fields.filter(({ name }) => takes.includes(name))) {
    const secret = field.isOptional ? ['', 'pasted'] : ['pasted'];
    const values = field.kind === 'secret' ? secret : typed[field.name]!;
    all = all.flatMap((one) => values.map((value) => ({ ...one, [field.name]: value })));
  }
  return all;
}

export type Seen = {
  readonly state: SetupState;
  readonly page: Page;
  readonly to: { readonly key: string; readonly by: string }[];
};

/** All vendors behave alike, so only the first one and "other address" remain. */
function choicesOf({ choices }: Page): readonly Choice[] {
  return choices.filter(({ id }) => !/^vendor:[1-9]/.test(id));
}

/**
 * States with the same key behave alike. The trail is part of it, since it says where "back" leads.
 */
function keyOf({ step, draft, facts, effect, trail }: SetupState): string {
  const { file, model, channel, access, keep } = draft;
  const ofModel = model?.kind === 'model' ? [model.provider, model.locality] : model?.kind;
  const ofChannel = channel?.kind === 'channel' ? channel.type : channel?.kind;
  const ofFacts = [facts.models?.near.length, facts.place?.keychain, facts.place?.set.length];
  const ofDraft = [file, ofModel, ofChannel, access?.pairing, access?.allow, keep];
  const places = trail.map((place) => place.step.at);
  const ofFile = facts.file?.kind === 'there' ? facts.file.problem : facts.file?.kind;
  return JSON.stringify([step, effect?.kind, ofDraft, ofFacts, ofFile, places]);
}

export function walkAll(frontend: Frontend): ReadonlyMap<string, Seen> {
  const seen = new Map<string, Seen>();
  const open = [begin(frontend)];
  for (let state = open.pop(); state !== undefined; state = open.pop()) {
    const key = keyOf(state);
    if (seen.has(key)) continue;
    const page = pageOf(state);
    const to: Seen['to'] = [];
    seen.set(key, { state, page, to });
    const go = (by: string, event: SetupEvent): void => {
      const after = next(state, event);
      to.push({ key: keyOf(after), by });
      open.push(after);
    };
    for (const one of choicesOf(page)) {
      for (const fields of fillings(page, one)) {
        go(one.id, { kind: 'chose', choice: one.id, fields });
      }
    }
    const { effect } = state;
    for (const found of effect === null ? [] : outcomes[effect.kind]) {
      go(found.of, { kind: 'found', found });
    }
  }
  return seen;
}
