import { goTo } from '../../kit/place.ts';
import { pathOf } from '../document/path.ts';
import { useDraft } from '../document/store.ts';

/** Leads to the form of a place of the draft; the whole file has none. */
export function GoTo({ path }: { readonly path: string }) {
  if (path === '') return <span>the file</span>;
  const go = (): void => {
    useDraft.getState().select(pathOf(path));
    goTo({ view: 'form' });
  };
  return (
    <button type="button" onClick={go} className="text-start text-link underline">
      <code className="break-all">{path}</code>
    </button>
  );
}
