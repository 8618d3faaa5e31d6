import { pathOf } from '../../../src/config/edit/path.ts';
import { useDraft } from '../document/store.ts';
import { placeWords } from '../outline/place-words.ts';
import { goToField } from '../shell/going.ts';

/** A link to the field of a path, with the name of its part. The whole file has no field. */
export function GoTo({ path }: { readonly path: string }) {
  const words = useDraft(({ document }) => placeWords(path, document));
  if (path === '') return <span>the file</span>;
  return (
    <button
      type="button"
      onClick={() => goToField(pathOf(path))}
      title={path}
      className="text-start text-link underline wrap-anywhere"
    >
      {words}
    </button>
  );
}
