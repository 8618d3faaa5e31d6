/** Which model, and what it says. Pure. */
import { isKeyed } from './conditions.ts';
import { backOrLeave, bad, choice, code, good, leaving, page, quote } from './page-parts.ts';
import { secretField, text, textField } from './page-parts.ts';
import type { Choice, Frontend, Line, Page } from './setup.ts';
import type { ModelChoice, ModelDraft, ModelsFound, SetupState, Step } from './state.ts';
import { vendors } from './vendors.ts';

/** So many models are offered by name. */
const listedMax = 12;
const pull = 'ollama pull llama3.2';
const title = 'The model that answers';

export function pageOfModel(state: SetupState): Page {
  const { models, file } = state.facts;
  const practice = choice('practice', 'Begin with the practice model', {
    hint: 'A small program with fixed answers, to see everything else work; no language model.',
    role: 'skip',
  });
  const kept = file?.kind === 'there' && state.draft.file === 'change' ? [keptModel(file)] : [];
  if (models === null) {
    const work = { text: 'Looking for models on this machine …', slow: null };
    return page('model', title, { work, choices: [practice, ...backOrLeave(state)] });
  }
  const near = models.near.slice(0, listedMax).map((model, index) => {
    return choice(`model:${index}`, nameOf(model), { hint: whereOf(model) });
  });
  const again = choice('again', 'Look again');
  const hosted = choice('hosted', 'A hosted model, with a key', { hint: leaves });
  const found = near.length > 0;
  return page('model', title, {
    lines: found
      ? [text('These answer here. Which one is to be asked?')]
      : noneLines(models, state.facts.frontend),
    choices: found
      ? [...kept, ...near, hosted, again, practice, ...backOrLeave(state)]
      : [...kept, again, hosted, practice, ...backOrLeave(state)],
  });
}

const leaves = 'What people write then leaves this machine.';

function keptModel({ models }: { readonly models: readonly string[] }): Choice {
  return choice('kept', `Keep ${models[0] ?? 'the one of the file'}`, { role: 'skip' });
}

function noneLines({ empty, keyed }: ModelsFound, frontend: Frontend): Line[] {
  const keys = keyed.map(({ keyEnv }) => keyEnv).join(', ');
  const then = frontend === 'window' ? '. Then, in a terminal:' : ', then:';
  const hosted = keys === '' ? [] : [text(`There is a key for a hosted model: ${keys}.`)];
  if (empty.length > 0) {
    const lack = `A model runtime runs at ${empty.join(' and ')}, but it has no model yet.`;
    return [
      bad(lack),
      text(`Fetch one in ${frontend === 'window' ? 'a' : 'another'} terminal, then look again:`),
      code(pull),
      ...hosted,
    ];
  }
  return [
    bad('No model runtime answers on this machine.'),
    text(`To run models here, install Ollama from https://ollama.com${then}`),
    code(pull),
    ...hosted,
  ];
}

function nameOf({ modelId }: ModelDraft): string {
  return modelId;
}

function whereOf({ locality, baseUrl }: ModelDraft): string {
  const where = baseUrl === null ? 'of the runtime on this machine' : `at ${baseUrl}`;
  return locality === 'local' ? where : `${where}; it hands this one on to its vendor. ${leaves}`;
}

export function pageOfVendor(state: SetupState): Page {
  const keyed = state.facts.models?.keyed ?? [];
  const all = vendors.map((vendor, index) => {
    const hint = isKeyed(keyed, vendor) ? `${vendor.keyEnv} is set.` : null;
    return { first: hint !== null, choice: choice(`vendor:${index}`, vendor.name, { hint }) };
  });
  const ordered = [...all.filter(({ first }) => first), ...all.filter(({ first }) => !first)];
  return page('model', 'Who runs the model', {
    lines: [text(`${leaves} The brain is written as public, which says so.`)],
    choices: [
      ...ordered.map((one) => one.choice),
      choice('other', 'Another address that speaks the same API'),
      ...backOrLeave(state),
    ],
  });
}

export function pageOfKey(
  state: SetupState,
  { vendor, said }: Extract<Step, { readonly at: 'key' }>,
): Page {
  const isOther = vendor.baseUrl === '';
  const isSet = isKeyed(state.facts.models?.keyed ?? [], vendor);
  const address = isOther ? [textField('base_url', 'Address', 'http://127.0.0.1:8000/v1')] : [];
  const key = isSet ? [] : [secretField(vendor.keyEnv, isOther)];
  const model = textField('model_id', 'Model', vendor.modelId);
  const fields = [...address, ...key, model];
  const names = fields.map(({ name }) => name);
  const notKey = names.filter((name) => name !== vendor.keyEnv);
  const lines = isSet
    ? [good(`${vendor.keyEnv} is set; it is used.`)]
    : [text('The key is typed unseen, and kept nowhere before the last step.')];
  return page('model', `A model of ${vendor.name}`, {
    lines: said === null ? lines : [bad(said), ...lines],
    fields,
    choices: [
      choice('ask', 'Ask it something', { takes: names }),
      choice('later', 'Go on without asking it', { takes: notKey, role: 'skip' }),
      ...backOrLeave(state),
    ],
  });
}

/** For so long a model may take over its first answer. */
export const firstAnswerMs = 300_000;
const slowMs = 5_000;

export function pageOfAnswer(
  state: SetupState,
  { outcome }: Extract<Step, { readonly at: 'answer' }>,
): Page {
  const name = describeModel(state.draft.model);
  const another = choice('another', 'Choose another model', { role: 'back' });
  const skip = choice('skip', 'Go on with it all the same', { role: 'skip' });
  const leave = leaving(state);
  if (outcome === null) {
    const slow = 'It still works on it: a first answer loads the model. It has five minutes.';
    const work = { text: `Asking ${name} …`, slow: { text: slow, afterMs: slowMs } };
    return page('answer', 'A first answer', { work, choices: [skip, another, ...leave] });
  }
  if (outcome.kind === 'answer') {
    const seconds = (outcome.ms / 1000).toFixed(1);
    return page('answer', 'A first answer', {
      lines: [good(`${name} answered in ${seconds} s:`), quote(outcome.text)],
      choices: [choice('next', 'Go on with it'), another, ...leave],
    });
  }
  const { message, remedy } = outcome;
  const lines = [bad(`${name} gave no answer: ${message}.`), ...(remedy ? [text(remedy)] : [])];
  return page('answer', 'A first answer', { lines, choices: [another, skip, ...leave] });
}

function describeModel(model: ModelChoice | null): string {
  return model?.kind === 'model' ? model.modelId : 'the practice model';
}
