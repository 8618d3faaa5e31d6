import type { ReactNode } from 'react';
import type { ModelProbe } from '../../../src/admin/model-probes.ts';
import { useApplication } from '../../kit/application.ts';
import { Button } from '../../kit/button.tsx';
import { Link } from '../../kit/link.tsx';
import { PageLink } from '../../kit/page-link.tsx';
import { ToCopy } from '../../kit/to-copy.tsx';
import type { Step } from './advice.ts';

type Props = {
  readonly steps: readonly Step[];
  /** null: there was no probe. */
  readonly probe: ModelProbe | null;
  /** The path in the configuration, `brains[0].models[1]`; null: not known. */
  readonly place: string | null;
  /** Called to replace the model by another one. */
  readonly onOther: (modelId: string) => void;
};

/** The steps of the advice in order, each with its button or command. */
export function Steps({ steps, probe, place, onOther }: Props) {
  return (
    <ol className="flex list-decimal flex-col gap-4 ps-6">
      {steps.map((step) => (
        <li key={keyOf(step)}>
          <Shown step={step} probe={probe} place={place} onOther={onOther} />
        </li>
      ))}
    </ol>
  );
}

const keyOf = (step: Step): string => (step.kind === 'told' ? step.text : step.kind);

type ShownProps = Omit<Props, 'steps'> & { readonly step: Step };

function Shown({ step, probe, place, onOther }: ShownProps) {
  switch (step.kind) {
    case 'start':
      return <Start />;
    case 'real':
      return <Real place={place} onOther={onOther} />;
    case 'fetch':
      return (
        <Block>
          <p>
            Fetch it. This is one line for a terminal; it loads some gigabytes, and says how far it
            is:
          </p>
          <ToCopy text={step.command} />
          <Waits />
        </Block>
      );
    case 'replace':
      return <Replace probe={probe} place={place} onOther={onOther} />;
    case 'key':
      return <Key name={probe?.keyEnv ?? null} />;
    case 'address':
      return (
        <Block>
          <p className="wrap-anywhere">
            Or is it elsewhere?{' '}
            {probe === null ? null : (
              <>
                svc asks at <code>{probe.address}</code>.{' '}
              </>
            )}
            <InBuilder place={place} field="base_url">
              Change the address in the builder
            </InBuilder>
            .
          </p>
        </Block>
      );
    case 'told':
      return <p className="max-w-prose">{step.text}</p>;
    default:
      return step satisfies never;
  }
}

function Block({ children }: { readonly children: ReactNode }) {
  return <div className="flex max-w-prose flex-col gap-2">{children}</div>;
}

function Start() {
  return (
    <Block>
      <p>
        Start Ollama. On a Mac or on Windows, open it like any other program; on Linux it mostly
        runs by itself, and else this line starts it in a terminal:
      </p>
      <ToCopy text="ollama serve" />
      <p>
        It is not on this machine yet? <Ollama>Get it from ollama.com</Ollama>.
      </p>
      <Waits />
    </Block>
  );
}

/**
 * A link to the download. An app window of a browser opens no other page, so there the address is a
 * text.
 */
function Ollama({ children }: { readonly children: string }) {
  const mayStay = useApplication(({ isThere }) => isThere) && globalThis.svcShell === undefined;
  if (mayStay) return <code>https://ollama.com/download</code>;
  return (
    <a href="https://ollama.com/download" target="_blank" rel="noreferrer">
      {children}
    </a>
  );
}

/** The first model to load, the same as in the first run. */
const firstModel = 'llama3.2';

function Real({ place, onOther }: Pick<ShownProps, 'place' | 'onOther'>) {
  return (
    <Block>
      <p>
        Take a real model in its place. One that runs on this machine needs Ollama, which{' '}
        <Ollama>ollama.com</Ollama> has; the next page says what is missing still.
      </p>
      <p>
        <Button kind="main" onClick={() => onOther(firstModel)}>
          Use {firstModel} …
        </Button>
      </p>
      <p>
        Or take{' '}
        <InBuilder place={place} field="model_id">
          another model, in the builder
        </InBuilder>
        ; a hosted one needs a key.
      </p>
    </Block>
  );
}

/** A note that the page probes by itself. */
function Waits() {
  return <p className="text-soft">This page sees by itself when that is done.</p>;
}

function Replace({ probe, place, onOther }: Omit<ShownProps, 'step'>) {
  const others = probe?.others ?? [];
  return (
    <Block>
      <p>
        {others.length === 0 ? 'Or take ' : 'Or take one that is here, or '}
        <InBuilder place={place} field="model_id">
          another model, in the builder
        </InBuilder>
        .
      </p>
      {others.length === 0 ? null : (
        <ul className="flex flex-wrap gap-2">
          {others.map((modelId) => (
            <li key={modelId} className="min-w-0">
              <Button small className="max-w-full wrap-anywhere" onClick={() => onOther(modelId)}>
                Use {modelId} …
              </Button>
            </li>
          ))}
        </ul>
      )}
    </Block>
  );
}

function Key({ name }: { readonly name: string | null }) {
  const page = useApplication((state) => state.page);
  return (
    <Block>
      <p>
        Get a key from the provider, and <Link to={{ view: 'secrets' }}>give it to svc</Link>
        {name === null ? null : (
          <>
            {' '}
            as <code className="wrap-anywhere">{name}</code>
          </>
        )}
        .
      </p>
      <p>
        svc takes a new key when it starts again
        {page === null ? null : (
          <>
            : <a href={page}>the page of this application</a> has a button for that
          </>
        )}
        .
      </p>
    </Block>
  );
}

type InBuilderProps = {
  readonly place: string | null;
  readonly field: string;
  readonly children: ReactNode;
};

function InBuilder({ place, field, children }: InBuilderProps) {
  const at = new URLSearchParams({ view: 'form', at: `${place ?? ''}.${field}` });
  return (
    <PageLink href={place === null ? '/builder' : `/builder?${at.toString()}`}>{children}</PageLink>
  );
}
