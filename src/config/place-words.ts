/** Describes places of the configuration in use by names, not by numbers, for warnings. */
import { channelName } from '../channels/registry.ts';
import { formatModelName } from '../domain/model-words.ts';

/** A warning of the status. `instances` are those that have it; null: all of them. */
type Warning = {
  readonly path: string;
  readonly message: string;
  readonly instances: readonly number[] | null;
};

/** The configuration in use, in the order of its entries, and each instance's revision. */
type ConfigInUse = {
  readonly revision: string;
  /** `name` null: the service is older than names, and the type is the name. */
  readonly channels: readonly { readonly name: string | null; readonly type: string }[];
  readonly brains: readonly {
    readonly name: string;
    readonly models: readonly { readonly name: string }[];
  }[];
  readonly instances: readonly { readonly id: number; readonly revision: string | null }[] | null;
};

const numberedPath =
  /\b(channels|brains|routes)\[(\d+)\](?:\.models\[(\d+)\])?((?:\.[A-Za-z_]\w*|\[\d+\])*)/g;

/**
 * Writes a warning with names in place of numbers. An empty `where` means the whole configuration.
 * The numbers of an instance with another configuration stay, since they mean other entries.
 */
export function describeWarning(
  { path, message, instances }: Warning,
  inUse: ConfigInUse,
): { readonly where: string; readonly message: string } {
  const isOther = (inUse.instances ?? []).some(
    ({ id, revision }) => instances?.includes(id) === true && revision !== inUse.revision,
  );
  const describe = (words: string): string => (isOther ? words : withNames(words, inUse));
  return { where: describe(path), message: describe(message) };
}

/** `brains[1].models[0].base_url` → `brain triage, model llama3.2 (Ollama), base_url`. */
function withNames(words: string, { channels, brains }: ConfigInUse): string {
  return words.replaceAll(
    numberedPath,
    (path: string, list: string, at: string, inner: string | undefined, field: string) => {
      const rest = field === '' ? '' : `, ${field.replace(/^\./, '')}`;
      if (list === 'routes') return inner === undefined ? `route ${Number(at) + 1}${rest}` : path;
      if (list === 'channels') {
        const channel = inner === undefined ? channels[Number(at)] : undefined;
        if (channel === undefined) return path;
        return `channel ${channelName(channel.name ?? channel.type)}${rest}`;
      }
      const brain = brains[Number(at)];
      if (brain === undefined) return path;
      if (inner === undefined) return `brain ${brain.name}${rest}`;
      const model = brain.models[Number(inner)];
      return model === undefined
        ? path
        : `brain ${brain.name}, model ${formatModelName(model.name)}${rest}`;
    },
  );
}
