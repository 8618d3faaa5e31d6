import type { Edit } from '../../../src/config/edit/edit-text.ts';
import { textOf } from '../../../src/config/edit/path.ts';
import { brainsOf } from '../document/starts.ts';
import { useDraft } from '../document/store.ts';
import { isList, valueAt, wordOf } from '../document/value.ts';
import { announce } from '../shell/announce.tsx';
import { TextInput } from './inputs.tsx';
import type { InputProps } from './row.tsx';

/** The name of a brain: routes that named it go along when it is given another one. */
export function BrainNameInput(props: InputProps) {
  const { path } = props;
  const follow = (before: string): void => {
    const { document, apply } = useDraft.getState();
    const name = wordOf(valueAt(document, path));
    if (name === before || name === '' || brainsOf(document).includes(before)) return;
    const { routes } = document;
    const edits = (isList(routes) ? routes : []).flatMap((route, at): Edit[] => {
      if (valueAt(route, ['brain']) !== before) return [];
      return [{ kind: 'set', path: ['routes', at, 'brain'], value: name }];
    });
    if (edits.length === 0 || !apply(edits, textOf(path))) return;
    announce(`The routes to ${before} lead to ${name} now.`);
  };
  return <TextInput {...props} onLeave={follow} />;
}
