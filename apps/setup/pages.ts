/** From a state to the page that a face shows: all that is said on the way. Pure. */
import { kindOf } from '../../src/channels/registry.ts';
import { pageOfModel, pageOfVendor, pageOfKey, pageOfAnswer } from './pages-model.ts';
import { pageOfAccess, pageOfChannel, pageOfKeep, pageOfToken } from './pages-channel.ts';
import { pageOfFirst, pageOfOver, pageOfReview, pageOfStart, pageOfWrite } from './pages-end.ts';
import { backOrLeave, choice, page, text } from './page-parts.ts';
import type { Page } from './setup.ts';
import type { SetupState } from './state.ts';

export function pageOf(state: SetupState): Page {
  const { step } = state;
  switch (step.at) {
    case 'file':
      return pageOfFile(state);
    case 'model':
      return pageOfModel(state);
    case 'vendor':
      return pageOfVendor(state);
    case 'key':
      return pageOfKey(state, step);
    case 'answer':
      return pageOfAnswer(state, step);
    case 'channel':
      return pageOfChannel(state);
    case 'token':
      return pageOfToken(state, step);
    case 'keep':
      return pageOfKeep(state);
    case 'access':
      return pageOfAccess(state, step);
    case 'review':
      return pageOfReview(state, step);
    case 'write':
      return pageOfWrite();
    case 'start':
      return pageOfStart(state, step);
    case 'first':
      return pageOfFirst(state, step);
    case 'over':
      return pageOfOver(state, step);
    default:
      return step satisfies never;
  }
}

function pageOfFile(state: SetupState): Page {
  const title = 'Your configuration';
  const { file } = state.facts;
  if (file?.kind !== 'there') {
    const work = { text: 'Looking for a file that is there already …', slow: null };
    return page('file', title, { work, choices: backOrLeave(state) });
  }
  const { path, problem, models, channels } = file;
  const names = channels.map((type) => kindOf(type).name);
  const what = `Its channels: ${listed(names)}. It asks ${listed(models)}.`;
  const found =
    problem === null
      ? text(what)
      : ({ kind: 'bad', text: `It cannot be used: ${problem}` } as const);
  const anew = 'The file of now is kept beside it, under another name.';
  return page('file', title, {
    lines: [text(`${path} is there already. It is never overwritten.`), found],
    choices: [
      ...(problem === null
        ? [
            choice('keep', 'Keep it, and start'),
            choice('change', 'Change its model or add a channel', { hint: anew }),
          ]
        : []),
      choice('anew', 'Make a new one', { hint: anew }),
      ...backOrLeave(state),
    ],
  });
}

function listed(names: readonly string[]): string {
  return names.length === 0 ? 'nothing' : names.slice(0, 5).join(', ');
}
