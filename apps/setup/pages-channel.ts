/** Where messages come from, the secrets for it, and who may talk. Pure. */
import type { ChannelKind } from '../../src/channels/kind.ts';
import { kindOf } from '../../src/channels/registry.ts';
import { kindsOffered, secretsOf } from './document.ts';
import { backOrLeave, bad, choice, good, page, secretField, text } from './page-parts.ts';
import { textField } from './page-parts.ts';
import type { Choice, Line, Page } from './setup.ts';
import type { SetupState, Step, TokenFound } from './state.ts';
import { mayKeep } from './conditions.ts';

export function pageOfChannel(state: SetupState): Page {
  const { file } = state.facts;
  const isChange = state.draft.file === 'change' && file?.kind === 'there';
  const names = isChange ? file.channels.map((type) => kindOf(type).name) : [];
  const kept = isChange
    ? [choice('kept', `Keep what there is: ${names.join(', ')}`, { role: 'skip' })]
    : [];
  return page('channel', 'Where messages come from', {
    lines: [text('More channels can be added later.')],
    choices: [...kept, ...kindsOffered.map(choiceOf), ...backOrLeave(state)],
  });
}

function choiceOf({ type, name, isMessenger }: ChannelKind): Choice {
  const hint = isMessenger
    ? 'People write to a bot of yours. It needs a token of the platform.'
    : 'Programs send messages by HTTP, and replies are posted to them. It needs no account.';
  return choice(type, name, { hint });
}

export function pageOfToken(
  state: SetupState,
  { type, found }: Extract<Step, { readonly at: 'token' }>,
): Page {
  const { name, token }: ChannelKind = kindOf(type);
  const { variable, steps } = token;
  const title = `Your bot on ${name}`;
  const later = choice('later', `Go on, and set ${variable} later`, { role: 'skip' });
  if (found === null) {
    const work = { text: `Asking ${name} whose token it is …`, slow: null };
    return page('channel', title, { work, choices: [later, ...backOrLeave(state)] });
  }
  const fields = [secretField(variable)];
  const label = found.kind === 'none' ? 'Paste the token' : 'Paste another token';
  const paste = choice('paste', label, { takes: [variable] });
  const canPaste = found.kind === 'none' || isReplaced(found.source);
  const own = canPaste ? [paste] : [];
  const ways = found.kind === 'none' ? steps.map((step, at) => text(`${at + 1}. ${step}`)) : [];
  return page('channel', title, {
    lines: [...linesOf(found, variable), ...ways],
    fields: canPaste ? fields : [],
    choices: [...choicesOf(found, own), later, ...backOrLeave(state)],
  });
}

/** Whether what is pasted counts from then on: other places win over the keychain. */
function isReplaced(source: Exclude<TokenFound, { kind: 'none' }>['source']): boolean {
  return source === 'pasted' || source === 'keychain';
}

function choicesOf(found: TokenFound, paste: readonly Choice[]): readonly Choice[] {
  switch (found.kind) {
    case 'none':
    case 'refused':
      return paste;
    case 'known':
      return [choice('next', `Go on as ${found.name}`), ...paste];
    case 'unreached':
      return [choice('again', 'Ask again'), choice('next', 'Go on unasked'), ...paste];
    default:
      return found satisfies never;
  }
}

function linesOf(found: TokenFound, variable: string): Line[] {
  if (found.kind === 'none') return [];
  const elsewhere = isReplaced(found.source)
    ? []
    : [text(`It stands in ${variable} of your environment, which wins over what is pasted.`)];
  if (found.kind === 'known') return [good(`It is ${found.name} (${found.id}).`), ...elsewhere];
  return [bad(`${capital(found.message)}.`), ...elsewhere];
}

function capital(words: string): string {
  return `${words.slice(0, 1).toUpperCase()}${words.slice(1)}`;
}

export function pageOfKeep(state: SetupState): Page {
  const { place } = state.facts;
  const title = 'Where its secrets are kept';
  if (place === null) {
    const work = { text: 'Looking at the keychain …', slow: null };
    return page('secrets', title, { work, choices: backOrLeave(state) });
  }
  const secrets = secretsOf(state.draft, state.facts);
  const made = secrets.filter(({ is }) => is === 'made').map(({ name }) => name);
  const pasted = secrets.filter(({ is }) => is === 'pasted').map(({ name }) => name);
  const isWindow = state.facts.frontend === 'window';
  const isReady = place.keychain === 'ready';
  const left = mayKeep(state) ? 'a long one is made' : 'one is made that this run alone knows';
  return page('secrets', title, {
    lines: [
      text('The file names its secrets, and never holds one.'),
      ...pasted.map((name) => good(`${name} was pasted.`)),
      ...made.map((name) => text(`${name}: senders show it. Left empty, ${left}.`)),
      ...(isReady ? [] : [bad(place.told ?? 'The keychain cannot be used.')]),
    ],
    fields: made.map((name) => secretField(name, true)),
    choices: [...(isWindow ? inWindow : atTerminal)(state, made), ...backOrLeave(state)],
  });
}

const again = choice('again', 'Look at the keychain again');

function atTerminal({ facts }: SetupState, made: readonly string[]): readonly Choice[] {
  const byHand = choice('by_hand', 'I set them in the environment', {
    hint: 'You get the lines at the end. This run has them already.',
    takes: made,
    role: 'skip',
  });
  return facts.place?.keychain === 'ready' ? [inKeychain(made), byHand] : [byHand, again];
}

/** Who has no terminal sets nothing in the environment. */
function inWindow(state: SetupState, made: readonly string[]): readonly Choice[] {
  if (state.facts.place?.keychain === 'ready') return [inKeychain(made)];
  const label = 'Unlock the keychain, and keep them there';
  const hint = 'It asks for its password at the last step, when they are written.';
  const unlocked = mayKeep(state) ? [choice('keychain', label, { hint, takes: made })] : [];
  const without = choice('by_hand', 'Go on without it', {
    hint: 'svc has them until it is quit or started again, and asks for them the next time.',
    takes: made,
    role: 'skip',
  });
  return [...unlocked, again, without];
}

function inKeychain(made: readonly string[]): Choice {
  return choice('keychain', 'Keep them in the keychain of this system', {
    hint: 'svc finds them there at each start, and shows them to nobody.',
    takes: made,
  });
}

export function pageOfAccess(
  state: SetupState,
  { said }: Extract<Step, { readonly at: 'access' }>,
): Page {
  const line = text('Strangers can find a bot. Who is to be answered?');
  return page('access', 'Who may talk to it', {
    lines: said === null ? [line] : [bad(said), line],
    fields: [textField('ids', 'User ids')],
    choices: [
      choice('pairing', 'Whom I let in by a code', {
        hint: 'Who writes is given a code, and you let them in by it; you too.',
      }),
      choice('listed', 'These user ids alone', { takes: ['ids'] }),
      choice('anyone', 'Anyone on the platform', { hint: 'svc warns of it at each start.' }),
      ...backOrLeave(state),
    ],
  });
}
