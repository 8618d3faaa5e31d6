import { useState } from 'react';
import type { JsonObject } from '../../../src/config/locate.ts';
import { templates, type Template } from '../../../src/config/templates/templates.ts';
import { Button } from '../../kit/button.tsx';
import { Dialog } from '../../kit/dialog.tsx';
import { goTo } from '../../kit/place.ts';
import { useDraft } from '../document/store.ts';
import { ChangeList } from '../review/change-list.tsx';
import { changesOf } from '../../../src/config/changes/changes.ts';
import { rewrite } from '../review/rewrite.ts';
import { addBeside, beginWith } from './using.ts';

/** Whole configurations to begin with, each with the changes that it would make. */
export function TemplateView() {
  const [chosen, setChosen] = useState<Template | null>(null);
  return (
    <div className="mx-auto flex w-full min-w-0 max-w-5xl flex-col gap-4 p-4">
      <h2 className="text-lg">Begin with a template</h2>
      <p className="text-soft">
        Each is whole as it stands. Choosing one changes the draft alone; you see first what it
        replaces.
      </p>
      <ul className="grid gap-3 sm:grid-cols-2 xl:grid-cols-3">
        {templates.map((template) => (
          <li
            key={template.name}
            className="flex flex-col gap-2 rounded-lg border border-line bg-card p-4"
          >
            <h3 className="text-base">{template.title}</h3>
            <p className="flex-1 text-sm text-soft">{template.description}</p>
            <Button
              className="self-start"
              aria-label={`Choose ${template.title}`}
              onClick={() => setChosen(template)}
            >
              Choose
            </Button>
          </li>
        ))}
      </ul>
      {chosen === null ? null : <Using template={chosen} onClose={() => setChosen(null)} />}
    </div>
  );
}

type UsingProps = { readonly template: Template; readonly onClose: () => void };

/** Replaces the configuration by the template, or adds the template to it. */
function Using({ template, onClose }: UsingProps) {
  const document = useDraft((state) => state.document);
  const replaced = beginWith(document, template.document);
  const added = addBeside(document, template.document);
  const use = (target: JsonObject): void => {
    const { text, readable, replace, select } = useDraft.getState();
    replace(rewrite(readable ? text : '{}\n', target));
    select([]);
    onClose();
    goTo({ view: 'graph' });
  };
  return (
    <Dialog
      open
      wide
      title={template.title}
      onClose={onClose}
      actions={
        <>
          {added === null ? null : (
            <Button onClick={() => use(added)}>Add its brain beside mine</Button>
          )}
          <Button kind="main" onClick={() => use(replaced)}>
            {added === null ? 'Begin with it' : 'Replace mine with it'}
          </Button>
        </>
      }
    >
      <div className="flex flex-col gap-3">
        <p>{template.description}</p>
        <h3 className="text-base">
          {added === null ? 'What comes into the draft' : 'To replace yours with it means'}
        </h3>
        <ChangeList
          changes={changesOf(document, replaced)}
          none="Nothing: the draft says this already."
        />
        {added === null ? null : (
          <>
            <h3 className="text-base">To add its brain beside yours means</h3>
            <ChangeList changes={changesOf(document, added)} none="Nothing." />
          </>
        )}
        <p className="text-sm text-soft">
          The admin server, the administrator, the storage and a channel of the same kind that you
          have stay as they are. It can be undone.
        </p>
      </div>
    </Dialog>
  );
}
