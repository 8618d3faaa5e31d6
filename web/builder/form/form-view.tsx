import { registeredNameIn } from '../document/channels.ts';
import { useMemo } from 'react';

import type { Field } from '../../../src/config/field.ts';
import { schema } from '../../../src/config/schema.ts';
import { Button } from '../../kit/button.tsx';
import { Notice } from '../../kit/notice.tsx';
import { fieldAt } from '../document/fields.ts';
import { textOf, type Path } from '../../../src/config/edit/path.ts';
import { modelUsesOf } from '../document/privacy-filter.ts';
import { useDraft } from '../document/store.ts';
import { isObject } from '../../../src/lib/json.ts';
import { LiveLink } from '../outline/live-link.tsx';
import { crumbsOf, type TreeNode } from '../outline/tree.ts';
import { announce } from '../shell/announce.tsx';
import { idOf, leadTo, useArrival } from '../shell/going.ts';
import { useValue } from './at.ts';
import { Block } from './block.tsx';
import { Entries } from './entries.tsx';
import { RouteLists, RoutesOfChannel } from './routes.tsx';
import { ObjectForm } from './object-form.tsx';
import { ModelUseBadge } from './model-use-badge.tsx';
import { keyOf, sentence } from './words.tsx';

/** The fields of the outline's selection; without a selection, of the whole configuration. */
export function FormView() {
  const selection = useDraft((state) => state.selection);
  const document = useDraft((state) => state.document);
  const readable = useDraft((state) => state.readable);
  const crumbs = useMemo(() => crumbsOf(selection, document), [selection, document]);
  const path = crumbs.at(-1)?.path ?? [];
  useArrival();
  return (
    <fieldset
      disabled={!readable}
      className="mx-auto flex w-full min-w-0 max-w-3xl flex-col gap-4 p-4 wrap-anywhere"
    >
      <Crumbs crumbs={crumbs} />
      <Page key={textOf(path)} path={path} title={crumbs.at(-1)?.label ?? 'The configuration'} />
    </fieldset>
  );
}

function Crumbs({ crumbs }: { readonly crumbs: readonly TreeNode[] }) {
  const select = useDraft((state) => state.select);
  if (crumbs.length === 0) return null;
  const look = 'min-w-0 rounded-sm text-start text-link underline underline-offset-2';
  return (
    <nav aria-label="Where this stands" className="flex flex-wrap gap-x-2 text-sm">
      <button type="button" className={look} onClick={() => select([])}>
        The configuration
      </button>
      {crumbs.map(({ path, label }, at) => (
        <span key={textOf(path)} className="flex min-w-0 gap-x-2">
          <span aria-hidden="true" className="text-soft">
            ›
          </span>
          {at === crumbs.length - 1 ? (
            <span aria-current="location" className="min-w-0">
              {label}
            </span>
          ) : (
            <button type="button" className={look} onClick={() => select(path)}>
              {label}
            </button>
          )}
        </span>
      ))}
    </nav>
  );
}

const inShort = 'Messages come in by channels, routes give them to brains, and brains ask models.';

type PageProps = { readonly path: Path; readonly title: string };

function Page({ path, title }: PageProps) {
  const value = useValue(path);
  const field: Field = fieldAt(path) ?? schema;
  const isForm = field.type === 'object' && isObject(value);
  const isAbsent = field.type === 'object' && !isObject(value);
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <h2 id={isForm ? idOf(path) : undefined} tabIndex={-1} className="min-w-0 flex-1 text-xl">
          {title}
        </h2>
        <LiveLink path={path} />
        {isForm && field.required !== true && path.length > 0 ? (
          <Removal path={path} title={title} />
        ) : null}
      </div>
      {field.type === 'list' && field.items.type === 'object' && path[0] === 'routes' ? (
        <RouteLists path={path} field={field} item={field.items} required form={ObjectForm} />
      ) : field.type === 'list' && field.items.type === 'object' ? (
        <Entries
          path={path}
          field={field}
          item={field.items}
          required={field.required === true}
          form={ObjectForm}
        />
      ) : null}
      {field.type === 'object' && isAbsent && path.length > 0 ? (
        <Block path={path} field={field} required={field.required === true}>
          {null}
        </Block>
      ) : null}
      {field.type === 'object' && isForm ? (
        <>
          <p className="text-soft">{path.length === 0 ? inShort : sentence(field.description)}</p>
          <About path={path} />
          <ObjectForm path={path} field={field} />
          {path.length === 2 && path[0] === 'channels' ? (
            <RoutesOfChannel channel={registeredNameIn(value)} form={ObjectForm} />
          ) : null}
        </>
      ) : null}
    </>
  );
}

function Removal({ path, title }: PageProps) {
  const remove = (): void => {
    const draft = useDraft.getState();
    if (!draft.remove(path)) return;
    // The outline has a line for an absent block, and none for a removed entry of a list.
    if (typeof path.at(-1) === 'number') draft.select(path.slice(0, -1));
    else leadTo(path);
    announce(`${title} is removed; undo brings it back.`);
  };
  return (
    <Button small kind="quiet" aria-label={`Remove ${title}`} onClick={remove}>
      Remove
    </Button>
  );
}

/** Explains the privacy filter, where it removes a model. */
function About({ path }: { readonly path: Path }) {
  const isModel = keyOf(path) === 'models';
  const isBrain = path.length === 2 && path[0] === 'brains';
  const brain = useValue(isModel ? path.slice(0, -2) : path);
  if (!isModel && !isBrain) return null;
  const modelUses = modelUsesOf(brain);
  const modelUse = isModel ? modelUses[Number(path.at(-1))] : undefined;
  if (modelUse?.kind === 'never' || modelUse?.kind === 'unused') {
    return (
      <Notice tone="wait">
        <ModelUseBadge modelUse={modelUse} />
      </Notice>
    );
  }
  const never = modelUses.filter(({ kind }) => kind === 'never').length;
  if (never === 0 || isModel) return null;
  return (
    <Notice tone="wait">
      {never === 1 ? 'One model is' : `${never} models are`} listed here and never asked: this brain
      is private, so nothing of its messages leaves for a cloud model.
    </Notice>
  );
}
