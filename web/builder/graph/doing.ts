/** Applies the actions of the graph to the draft. */
import { registeredNameIn } from '../document/channels.ts';
import type { JsonObject } from '../../../src/config/locate.ts';

import { pathOf, type Path } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { valueAt } from '../document/value.ts';
import { route, shareModel } from './actions.ts';
import { textAt } from './reading.ts';

type Written = { readonly text: string; readonly document: JsonObject };

/** @returns false if it was not possible, for example while the text is no JSON */
export function change(
  act: (now: Written) => string | null,
  { select, group }: { readonly select?: Path; readonly group?: string } = {},
): boolean {
  const draft = useDraft.getState();
  if (!draft.readable) return false;
  const text = act({ text: draft.text, document: draft.document });
  if (text === null) return false;
  draft.replace(text, group);
  if (select !== undefined) useDraft.getState().select(select);
  return true;
}

/** Connects a channel to a brain, or a brain to a model of another brain. */
export function connect(source: string, target: string): void {
  const [from, to] = [pathOf(source), pathOf(target)];
  if (from[0] === 'brains') {
    change((now) => shareModel(now, to, from));
    return;
  }
  change((now) => {
    const channel = registeredNameIn(valueAt(now.document, from));
    const brain = textAt(valueAt(now.document, to), 'name');
    return channel === '' || brain === '' ? null : route(now, channel, brain);
  });
}
