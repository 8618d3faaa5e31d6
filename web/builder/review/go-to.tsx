import { pathOf } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { crumbsOf } from '../outline/tree.ts';
import { goToField } from '../shell/going.ts';

/** Leads to the field of a place, and names whose it is. The whole file has no field. */
export function GoTo({ path }: { readonly path: string }) {
  const whose = useDraft(({ document }) => {
    const [, ...inside] = crumbsOf(pathOf(path), document);
    return inside.map(({ label }) => label).join(' → ');
  });
  if (path === '') return <span>the file</span>;
  return (
    <button
      type="button"
      onClick={() => goToField(pathOf(path))}
      className="text-start text-link underline"
    >
      <code className="break-all">{path}</code>
      {whose === '' ? null : <span className="wrap-anywhere"> ({whose})</span>}
    </button>
  );
}
