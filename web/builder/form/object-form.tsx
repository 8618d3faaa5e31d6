/**
 * The form of an object: an input for each field by its kind, with special ones for brains and
 * variables.
 */
import { canonical } from '../../../src/config/changes/entries.ts';
import type { ChoiceField, ListField, ObjectField, MapField } from '../../../src/config/field.ts';
import type { Json } from '../../../src/config/locate.ts';
import { Button } from '../../kit/button.tsx';
import { visible } from '../../kit/visible.ts';
import { demandsOf, variableName, type Demands } from '../document/fields.ts';
import { textOf, type Path } from '../../../src/config/edit/path.ts';
import { renameEdits, titleOfName, registeredNameIn } from '../document/channels.ts';
import { brainsOf, channelsOf } from '../document/starts.ts';
import { useDraft } from '../document/store.ts';
import { isObject } from '../../../src/lib/json.ts';
import { wordOf, isList, valueAt } from '../document/value.ts';
import { idOf } from '../shell/going.ts';
import { isAbsent, useProblems, useValue } from './at.ts';
import { Block } from './block.tsx';
import { Entries } from './entries.tsx';
import { GrantsTable } from './grants.tsx';
import {
  BooleanInput,
  ChoiceInput,
  DecimalInput,
  IntegerInput,
  SelectInput,
  TextInput,
} from './inputs.tsx';
import { TextList } from './lists.tsx';
import { ModelInput } from './model-input.tsx';
import { Row, type InputProps } from './row.tsx';
import { RouteLists } from './routes.tsx';
import { SecretInput } from './secret-input.tsx';
import { SeenBefore } from './seen-before.tsx';
import { Ticks } from './ticks.tsx';
import { ProblemList } from './problem-list.tsx';
import { toolOf } from './tool-words.ts';
import type { Edit } from '../../../src/config/edit/edit-text.ts';
import { announce } from '../shell/announce.tsx';
import { useState } from 'react';
import { formatFault } from '../../../src/config/formats.ts';
import { inputLook } from '../../kit/field.tsx';

type Props = { readonly path: Path; readonly field: ObjectField };

/** Every field that an object may have, and its other keys. */
export function ObjectForm({ path, field }: Props) {
  const value = useValue(path);
  const demands = demandsOf(field, value);
  const object = isObject(value) ? value : {};
  const strangers = Object.keys(object).filter((key) => !Object.hasOwn(field.fields, key));
  return (
    <div className="flex min-w-0 flex-col gap-5">
      {strangers.map((key) => (
        <Stranger key={key} path={[...path, key]} />
      ))}
      {Object.entries(field.fields).map(([key, inner]) =>
        isShown(key, object, demands) ? (
          <FieldOf
            key={key}
            path={[...path, key]}
            field={inner}
            required={inner.required === true || demands.required.has(key)}
            only={demands.only.get(key)}
          />
        ) : null,
      )}
    </div>
  );
}

/** Hides a key that does not belong here; a key that is in the file stays, to be removed. */
function isShown(key: string, object: Readonly<Record<string, Json>>, demands: Demands): boolean {
  const tool = toolOf(key);
  if (tool !== null && 'tools' in object && isAbsent(object[key])) {
    const { tools } = object;
    return Array.isArray(tools) && tools.includes(tool);
  }
  return !demands.forbidden.has(key) || object[key] !== undefined;
}

function FieldOf({ path, field, required, only }: InputProps) {
  switch (field.type) {
    case 'text': {
      if (field.format === 'env') return <SecretInput {...{ path, field, required }} />;
      const isBrain = path[0] === 'routes' && path.at(-1) === 'brain';
      if (isBrain) return <BrainInput {...{ path, field, required }} />;
      if (path.at(-1) === 'model_id') return <ModelInput {...{ path, field, required }} />;
      const isName = path.length === 3 && path[0] === 'brains' && path[2] === 'name';
      if (isName) return <BrainNameInput {...{ path, field, required }} />;
      return <TextInput {...{ path, field, required }} />;
    }
    case 'choice':
      if (field.others === 'channel_name') return <ChannelField {...{ path, field, required }} />;
      return <ChoiceInput {...{ path, field, required, only }} />;
    case 'integer':
      return <IntegerInput {...{ path, field, required }} />;
    case 'decimal':
      return <DecimalInput {...{ path, field, required }} />;
    case 'boolean':
      return <BooleanInput {...{ path, field, required }} />;
    case 'list':
      if (field.items.type === 'object') {
        if (path[0] === 'routes') {
          return <RouteLists {...{ path, field, required, item: field.items }} form={ObjectForm} />;
        }
        return (
          <>
            <Entries {...{ path, field, required, item: field.items }} form={ObjectForm} />
            {path.at(-1) === 'governance' ? <GrantsTable agent={path.slice(0, -1)} /> : null}
          </>
        );
      }
      if (field.items.type === 'choice') {
        return <NameTicks {...{ path, field, required, names: field.items }} />;
      }
      if (path.join('.') === 'completions.brains') {
        return <BrainTicks {...{ path, field, required }} />;
      }
      if (path[0] === 'routes') {
        return <TextList {...{ path, field, required }} offers={<SeenBefore path={path} />} />;
      }
      return <TextList {...{ path, field, required }} />;
    case 'map':
      return <VariableMap {...{ path, field, required }} />;
    case 'object':
      return (
        <Block {...{ path, field, required }}>
          <ObjectForm path={path} field={field} />
        </Block>
      );
    default:
      return field satisfies never;
  }
}

/** The name of a channel itself, or a channel that a route names. */
function ChannelField(props: InputProps<ChoiceField>) {
  return props.path[0] === 'channels' ? (
    <ChannelNameInput {...props} />
  ) : (
    <ChannelInput {...props} />
  );
}

/** Selects one of the channels of the configuration. */
function ChannelInput({ path, field, required }: InputProps<ChoiceField>) {
  const value = useValue(path);
  const options = useChannelOptions();
  return (
    <SelectInput
      {...{ path, field, required, options }}
      chosen={isAbsent(value) ? '' : canonical(wordOf(value))}
      onChoose={(name) => useDraft.getState().edit(path, name)}
    />
  );
}

/** The channels of the configuration: registered names, and titles for people. */
function useChannelOptions(): readonly { readonly value: string; readonly label: string }[] {
  const names = useDraft(({ document }) => {
    const options = [...new Set(channelsOf(document))].map((name) => {
      return { value: name, label: visible(titleOfName(document, name)) };
    });
    return JSON.stringify(options);
  });
  return JSON.parse(names) as ReturnType<typeof useChannelOptions>;
}

/** A list of names of the schema, or of the channels of the configuration. */
function NameTicks(props: InputProps<ListField> & { readonly names: ChoiceField }) {
  const channels = useChannelOptions();
  if (props.names.others !== 'channel_name') return <Ticks {...props} />;
  const names = channels.map(({ value }) => value);
  const labels = new Map(channels.map(({ value, label }) => [value, label]));
  return <Ticks {...props} names={{ ...props.names, names }} labels={labels} />;
}

const nameHint = (
  <>
    The first channel of a platform needs no name. Another one does: small letters, digits,{' '}
    <code>_</code> and <code>-</code>, a letter first, 32 at most. The name of a platform and{' '}
    <code>completions</code> are no names. svc keeps conversations by this name: naming or renaming
    a channel makes it a new one, whose conversations start anew.
  </>
);

/** The name of a channel. Routes, grants and approvers follow it. */
function ChannelNameInput(props: InputProps<ChoiceField>) {
  const { path } = props;
  const channel = path.slice(0, -1);
  const follow = (written: string): void => {
    const { document, apply } = useDraft.getState();
    const now = valueAt(document, channel);
    const former = isObject(now) ? { ...now, name: written } : {};
    const [before, after] = [registeredNameIn(former), registeredNameIn(now)];
    const names = channelsOf(document);
    const isClear = !names.includes(before) && names.indexOf(after) === names.lastIndexOf(after);
    if (before === after || before === '' || after === '' || !isClear) return;
    const edits = renameEdits(document, before, after);
    if (edits.length === 0 || !apply(edits, textOf(path))) return;
    announce(`Routes, grants and approvers name ${after} in the place of ${before}.`);
  };
  return <TextInput {...props} hint={nameHint} onLeave={follow} />;
}

/** The names of the configuration's brains, each once. */
function useBrains(): readonly string[] {
  const names = useDraft((state) => JSON.stringify([...new Set(brainsOf(state.document))]));
  return JSON.parse(names) as string[];
}

/** A list of brains of the configuration. */
function BrainTicks(props: InputProps<ListField>) {
  const names = useBrains();
  const labels = new Map(names.map((name) => [name, name]));
  const choice = { type: 'choice', description: '', names } as const;
  return <Ticks {...props} names={choice} labels={labels} />;
}

/** Selects one of the brains of the configuration. */
function BrainInput({ path, field, required }: InputProps) {
  const value = useValue(path);
  const options = useBrains().map((name) => ({ value: name, label: name }));
  return (
    <SelectInput
      {...{ path, field, required, options }}
      chosen={isAbsent(value) ? '' : wordOf(value)}
      onChoose={(name) => useDraft.getState().edit(path, name)}
    />
  );
}

/** A note of the file's author, or an unknown key. */
function Stranger({ path }: { readonly path: Path }) {
  const value = useValue(path);
  const problems = useProblems(path);
  const key = String(path.at(-1));
  const isNote = key === '$schema' || key.startsWith('_');
  return (
    <div
      id={idOf(path)}
      tabIndex={-1}
      className={`rounded-md border-s-4 bg-raised px-3 py-2 text-sm ${isNote ? 'border-line' : 'border-bad'}`}
    >
      <p className="flex flex-wrap items-start gap-x-2">
        <code className="text-soft">{key}</code>
        <span className="min-w-0 flex-1 break-words">{wordOf(value)}</span>
        {isNote ? (
          <Button
            kind="quiet"
            small
            aria-label={`Remove the note ${key}`}
            onClick={() => useDraft.getState().remove(path)}
          >
            ✕
          </Button>
        ) : null}
      </p>
      <ProblemList problems={problems} id={`${idOf(path)}-fault`} />
    </div>
  );
}

/** The name of a brain. Renaming it also renames it in the routes and for API clients. */
function BrainNameInput(props: InputProps) {
  const { path } = props;
  const follow = (before: string): void => {
    const { document, apply } = useDraft.getState();
    const name = wordOf(valueAt(document, path));
    if (name === before || name === '' || brainsOf(document).includes(before)) return;
    const { routes } = document;
    const offered = valueAt(document, ['completions', 'brains']);
    const places: Path[] = [
      ...(isList(routes) ? routes.keys() : []).map((at) => ['routes', at, 'brain']),
      ...(isList(offered) ? offered.keys() : []).map((at) => ['completions', 'brains', at]),
    ];
    const edits = places.flatMap((place): Edit[] => {
      return valueAt(document, place) === before ? [{ kind: 'set', path: place, value: name }] : [];
    });
    if (edits.length === 0 || !apply(edits, textOf(path))) return;
    announce(`What named ${before} names ${name} now.`);
  };
  return <TextInput {...props} onLeave={follow} />;
}

/** Variables of another program, each with the name of the variable of svc that holds its value. */
function VariableMap({ path, field, required }: InputProps<MapField>) {
  const value = useValue(path);
  const problems = useProblems(path);
  const [written, setWritten] = useState('');
  const keys = isObject(value) ? Object.keys(value) : [];
  const isFit = formatFault('env', written) === null && !keys.includes(written);
  const add = (): void => {
    if (!isFit) return;
    useDraft.getState().edit([...path, written], written);
    setWritten('');
  };
  return (
    <Row path={path} field={field} required={required} problems={problems} group>
      {keys.map((key) => (
        <div key={key} className="flex flex-col gap-1 border-s-2 border-line ps-3">
          <SecretInput path={[...path, key]} field={variableName} required />
          <div>
            <Button small kind="quiet" onClick={() => useDraft.getState().remove([...path, key])}>
              Remove {key}
            </Button>
          </div>
        </div>
      ))}
      <div className="flex flex-wrap items-center gap-1.5">
        <input
          id={idOf(path)}
          type="text"
          autoComplete="off"
          spellCheck={false}
          aria-label="The variable as the program knows it"
          value={written}
          onChange={(event) => setWritten(event.target.value.trim())}
          className={inputLook}
        />
        <Button small disabled={!isFit} onClick={add}>
          Add a variable
        </Button>
      </div>
    </Row>
  );
}
